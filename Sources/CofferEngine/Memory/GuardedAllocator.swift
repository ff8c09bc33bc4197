import CSodium
import Synchronization

/// A cache of guarded pages for reuse: mapping, protecting and locking new pages takes the kernel longer than
/// most operations on a small secret.
///
/// Returned pages are cleared and stay mapped, locked and between their guard pages. For the sizes of keys
/// and hashes, as many pages are cached as a derivation needs: at most 384 pages in all, usually a dozen. Of
/// longer secrets, which are tokens, the last few are cached whatever their size, so that reading the same
/// token again finds its pages.
enum GuardedAllocator {
    /// The number of cached entries for each size.
    private static let depth = 4

    /// Addresses by exact number of bytes, so that the byte after the secret is the first one of the guard
    /// page.
    private static let shelves = Mutex<[Int: [UInt]]>([:])

    /// The number of cached longer entries in all.
    private static let longDepth = 8
    /// Longer entries, the oldest first.
    private static let longShelf = Mutex<[(count: Int, address: UInt)]>([])

    /// Reports whether secrets of this size are common.
    private static func isTypical(_ count: Int) -> Bool { count > 0 && count <= 96 }

    /// Reports whether a longer secret of this size fits on one page.
    private static func isLong(_ count: Int) -> Bool { count > 96 && count <= 4096 }

    /// Returns cached zeroed pages for `count` bytes, if there are any.
    static func take(count: Int) -> UnsafeMutableRawPointer? {
        let address: UInt?
        if isTypical(count) {
            address = shelves.withLock { $0[count]?.popLast() }
        } else if isLong(count) {
            address = longShelf.withLock { shelf in
                shelf.lastIndex { $0.count == count }.map { shelf.remove(at: $0).address }
            }
        } else {
            return nil
        }
        return unsafe address.flatMap { unsafe UnsafeMutableRawPointer(bitPattern: $0) }
    }

    /// Clears the pages and caches or frees them.
    static func give(_ pages: UnsafeMutableRawPointer, count: Int) {
        guard isTypical(count) || isLong(count) else { return unsafe sodium_free(pages) }
        unsafe sodium_memzero(pages, count)
        let address = UInt(bitPattern: pages)
        guard isTypical(count) else { return cacheAllocation(address, count) }
        let kept = shelves.withLock { shelves in
            guard shelves[count, default: []].count < depth else { return false }
            shelves[count, default: []].append(address)
            return true
        }
        if !kept { unsafe sodium_free(pages) }
    }

    /// Caches the pages of a longer secret, cleared, and evicts the oldest ones.
    private static func cacheAllocation(_ address: UInt, _ count: Int) {
        let oldest = longShelf.withLock { shelf in
            shelf.append((count, address))
            return shelf.count > longDepth ? shelf.removeFirst().address : nil
        }
        if let oldest { unsafe sodium_free(UnsafeMutableRawPointer(bitPattern: oldest)) }
    }
}
