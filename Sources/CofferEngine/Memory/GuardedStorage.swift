import CofferBase
import CSodium

/// The guarded pages that store a ``GuardedBytes`` value's bytes. They are cleared when this object is
/// released.
///
/// The `@unchecked Sendable` conformance is safe because the pointer never changes after `make`, and bytes
/// are written only through the single owner's exclusive access.
@safe final class GuardedStorage: @unchecked Sendable {
    let start: UnsafeMutablePointer<UInt8>
    let count: Int

    private init(start: UnsafeMutablePointer<UInt8>, count: Int) {
        unsafe self.start = start
        self.count = count
    }

    /// Allocates zeroed guarded pages for `count` bytes, which may be zero.
    static func make(count: Int) throws(CofferError) -> GuardedStorage {
        try SodiumLibrary.start()
        if let pages = unsafe GuardedAllocator.take(count: count) {
            return unsafe GuardedStorage(start: pages.assumingMemoryBound(to: UInt8.self), count: count)
        }
        guard count >= 0, let pages = unsafe sodium_malloc(max(count, 1)) else {
            throw CofferError(
                .outOfMemory, "There is not enough memory for a guarded buffer of \(count) bytes.",
                systemError: Errno.current)
        }
        unsafe sodium_memzero(pages, max(count, 1))
        return unsafe GuardedStorage(start: pages.assumingMemoryBound(to: UInt8.self), count: count)
    }

    /// Clears the pages and then either caches or frees them. When the pages are freed, `sodium_free` also
    /// checks the canary.
    deinit { unsafe GuardedAllocator.give(start, count: count) }
}
