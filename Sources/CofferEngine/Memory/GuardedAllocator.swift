import CSodium
import Synchronization

/// Guarded pages that wait for their next owner: mapping, protecting and locking fresh ones takes the kernel
/// longer than most of what is done with a small secret.
///
/// Pages come here cleared and stay mapped, locked and between their guard pages. Of sizes that keys and
/// hashes have as many are kept as a derivation needs: at most 384 pages in all, usually a dozen. Of longer
/// ones, which are tokens, the last few are kept whatever their size, so that reading the same token again
/// finds its pages.
enum GuardedAllocator {
    /// How many are kept of each size.
    private static let depth = 4

    /// Addresses by the number of bytes, exact so that the byte after the secret is the guard page's first.
    private static let shelves = Mutex<[Int: [UInt]]>([:])

    /// How many longer ones are kept in all.
    private static let longDepth = 8
    /// Longer ones, the oldest first.
    private static let longShelf = Mutex<[(count: Int, address: UInt)]>([])

    /// Whether secrets of this size come up again and again.
    private static func isUsual(_ count: Int) -> Bool { count > 0 && count <= 96 }

    /// Whether a secret of this size is on one page.
    private static func isLong(_ count: Int) -> Bool { count > 96 && count <= 4096 }

    /// Zeroed pages for `count` bytes, where some wait.
    static func take(count: Int) -> UnsafeMutableRawPointer? {
        let address: UInt?
        if isUsual(count) {
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

    /// Clears the pages and keeps them or gives them back.
    static func give(_ pages: UnsafeMutableRawPointer, count: Int) {
        guard isUsual(count) || isLong(count) else { return unsafe sodium_free(pages) }
        unsafe sodium_memzero(pages, count)
        let address = UInt(bitPattern: pages)
        guard isUsual(count) else { return cacheAllocation(address, count) }
        let kept = shelves.withLock { shelves in
            guard shelves[count, default: []].count < depth else { return false }
            shelves[count, default: []].append(address)
            return true
        }
        if !kept { unsafe sodium_free(pages) }
    }

    /// Keeps the pages of a longer secret, cleared, in place of those kept longest.
    private static func cacheAllocation(_ address: UInt, _ count: Int) {
        let oldest = longShelf.withLock { shelf in
            shelf.append((count, address))
            return shelf.count > longDepth ? shelf.removeFirst().address : nil
        }
        if let oldest { unsafe sodium_free(UnsafeMutableRawPointer(bitPattern: oldest)) }
    }
}
