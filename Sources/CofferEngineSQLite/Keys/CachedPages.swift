import CPageCache
import CSQLite

/// The decrypted pages that SQLite keeps in memory for the connections that use one key.
///
/// SQLite returns these pages without a call to the file, even in a transaction that began before the key was
/// revoked, and to a backup, which runs no statement. After ``revoke()`` it returns none of them.
///
/// This is not guaranteed if the program replaced SQLite's page cache, in which case ``isInUse`` is `false`.
///
/// `@unchecked Sendable` is safe because the pointer never changes, and the C functions accept it on any
/// thread.
@safe final class CachedPages: @unchecked Sendable {
    private let owner: OpaquePointer?

    init() { unsafe owner = coffer_page_owner_create() }

    deinit { unsafe coffer_page_owner_release(owner) }

    /// Whether there was enough memory to create the owner of the pages. Without an owner, no page could be
    /// refused.
    var isUsable: Bool { unsafe owner != nil }

    /// Whether SQLite uses the page cache that refuses pages of revoked keys.
    static var isInUse: Bool { coffer_page_cache_is_in_use() != 0 }

    /// Whether a page was refused in the last ten seconds. SQLite reports a refused page as a shortage of
    /// memory.
    static var refusedLately: Bool { coffer_page_cache_refused_within(10) != 0 }

    /// Prevents SQLite from returning any further page of these connections from memory.
    func revoke() {
        guard let owner = unsafe owner else { return }
        unsafe coffer_page_owner_revoke(owner)
    }

    /// Calls `interrupts` with `context` after every `operations` operations of this connection, once the key
    /// was revoked, and interrupts the running statement if the result is not zero. The connection must not
    /// run a statement after this object or `check`, which this function fills, is gone.
    func watch(
        _ connection: OpaquePointer, every operations: Int32,
        _ check: UnsafeMutablePointer<coffer_page_owner_check>, context: UnsafeMutableRawPointer,
        _ interrupts: @convention(c) (UnsafeMutableRawPointer?) -> Int32
    ) {
        unsafe check.pointee = coffer_page_owner_check(owner: owner, interrupts: interrupts, context: context)
        unsafe sqlite3_progress_handler(connection, operations, coffer_page_owner_progress, check)
    }

    /// Assigns the page cache that SQLite creates next on this thread to this key. SQLite creates a page
    /// cache immediately after it has opened a database file.
    func expectNext() { unsafe coffer_page_cache_expect(owner) }

    /// Cancels ``expectNext()`` when a file is closed before SQLite has created a page cache for it.
    static func expectNone() { coffer_page_cache_expect(nil) }
}
