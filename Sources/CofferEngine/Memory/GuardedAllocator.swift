import CSodium
import Synchronization

/// A cache of guarded pages for reuse. The kernel needs more time to map, protect and lock new pages than
/// most operations on a small secret take.
///
/// The cache clears returned pages and keeps them mapped, locked and between their guard pages. For each size
/// up to 96 bytes, the range for keys and hashes, it keeps as many allocations as a derivation needs: at most
/// 384 in all, but usually about a dozen. For longer secrets of up to 4096 bytes, such as tokens, it keeps
/// the last eight allocations, so that reading the same token again can reuse its pages.
enum GuardedAllocator {
    /// The maximum number of cached allocations for each size.
    private static let depth = 4

    /// The addresses of the cached allocations by exact size in bytes. The size is exact so that the guard
    /// page begins directly after the secret.
    private static let shelves = Mutex<[Int: [UInt]]>([:])

    /// The maximum number of cached allocations for longer secrets, of all sizes together.
    private static let longDepth = 8
    /// The cached allocations for longer secrets, the oldest first.
    private static let longShelf = Mutex<[(count: Int, address: UInt)]>([])

    /// Reports whether secrets of this size are common.
    private static func isTypical(_ count: Int) -> Bool { count > 0 && count <= 96 }

    /// Reports whether a longer secret of this size fits on one page.
    private static func isLong(_ count: Int) -> Bool { count > 96 && count <= 4096 }

    /// Returns cached zeroed pages for `count` bytes, or `nil` if there are none.
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

    /// Clears the pages and then either caches or frees them.
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

    /// Caches the cleared pages of a longer secret. Frees the oldest allocation if there are too many.
    private static func cacheAllocation(_ address: UInt, _ count: Int) {
        let oldest = longShelf.withLock { shelf in
            shelf.append((count, address))
            return shelf.count > longDepth ? shelf.removeFirst().address : nil
        }
        if let oldest { unsafe sodium_free(UnsafeMutableRawPointer(bitPattern: oldest)) }
    }
}
