import CPageCache

/// The decrypted pages that SQLite keeps in memory for the connections under one key.
///
/// SQLite returns them without a call to the file, also in a transaction that began before the key was
/// revoked, and to a backup, which runs no statement. After ``revoke()`` it gets none of them.
///
/// Not guaranteed where the program set a page cache of its own: see ``isInUse``.
@safe final class CachedPages: @unchecked Sendable {
    // Unchecked: the pointer never changes, and the C functions on it are for any thread.
    private let owner: OpaquePointer?

    init() { unsafe owner = coffer_page_owner_create() }

    deinit { unsafe coffer_page_owner_release(owner) }

    /// Whether SQLite uses the page cache that knows revoked keys.
    static var isInUse: Bool { coffer_page_cache_is_in_use() != 0 }

    /// Whether a page was refused a moment ago, which SQLite reports as a shortage of memory.
    static var refusedLately: Bool { coffer_page_cache_refused_within(10) != 0 }

    /// From now on SQLite gets no page of these connections from memory.
    func revoke() {
        guard let owner = unsafe owner else { return }
        unsafe coffer_page_owner_revoke(owner)
    }

    /// Says that the page cache which SQLite creates next on this thread, directly after it opened a database
    /// file, belongs to this key.
    func expectNext() { unsafe coffer_page_cache_expect(owner) }

    /// Takes back ``expectNext()``, for a file that was closed before SQLite created a page cache for it.
    static func expectNone() { coffer_page_cache_expect(nil) }
}
