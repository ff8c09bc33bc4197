import CofferBase
import CSodium

/// The guarded pages behind a ``GuardedBytes``, which are cleared when this object is released.
///
/// `@unchecked Sendable` holds because the pointer never changes after `make`, and bytes are written only
/// through the single owner's exclusive access.
@safe final class GuardedStorage: @unchecked Sendable {
    let start: UnsafeMutablePointer<UInt8>
    let count: Int

    private init(start: UnsafeMutablePointer<UInt8>, count: Int) {
        unsafe self.start = start
        self.count = count
    }

    /// Allocates zeroed guarded pages for `count` bytes; zero is allowed.
    static func make(count: Int) throws(CofferError) -> GuardedStorage {
        try SodiumLibrary.start()
        if let pages = unsafe GuardedAllocator.take(count: count) {
            return unsafe GuardedStorage(start: pages.assumingMemoryBound(to: UInt8.self), count: count)
        }
        guard count >= 0, let pages = unsafe sodium_malloc(max(count, 1)) else {
            throw CofferError(
                .outOfMemory, "There is not enough guarded memory for \(count) bytes.",
                systemError: Errno.current)
        }
        unsafe sodium_memzero(pages, max(count, 1))
        return unsafe GuardedStorage(start: pages.assumingMemoryBound(to: UInt8.self), count: count)
    }

    /// Clears the pages and caches or frees them; `sodium_free` also checks the canary.
    deinit { unsafe GuardedAllocator.give(start, count: count) }
}
