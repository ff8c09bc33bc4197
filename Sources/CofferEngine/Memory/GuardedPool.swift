import CSodium
import Synchronization

/// Guarded pages that wait for their next owner: mapping, protecting and locking fresh ones takes the kernel
/// longer than most of what is done with a small secret.
///
/// Pages come here cleared and stay mapped, locked and between their guard pages. Only sizes that keys and
/// hashes have are kept, and of each as many as a derivation needs: at most 384 pages in all, usually a
/// dozen.
enum GuardedPool {
    /// How many are kept of each size.
    private static let depth = 4

    /// Addresses by the number of bytes, exact so that the byte after the secret is the guard page's first.
    private static let shelves = Mutex<[Int: [UInt]]>([:])

    /// Whether secrets of this size come up again and again.
    private static func isUsual(_ count: Int) -> Bool { count > 0 && count <= 96 }

    /// Zeroed pages for `count` bytes, where some wait.
    static func take(count: Int) -> UnsafeMutableRawPointer? {
        guard isUsual(count) else { return nil }
        let address = shelves.withLock { $0[count]?.popLast() }
        return unsafe address.flatMap { unsafe UnsafeMutableRawPointer(bitPattern: $0) }
    }

    /// Clears the pages and keeps them or gives them back.
    static func give(_ pages: UnsafeMutableRawPointer, count: Int) {
        guard isUsual(count) else { return unsafe sodium_free(pages) }
        unsafe sodium_memzero(pages, count)
        let address = UInt(bitPattern: pages)
        let kept = shelves.withLock { shelves in
            guard shelves[count, default: []].count < depth else { return false }
            shelves[count, default: []].append(address)
            return true
        }
        if !kept { unsafe sodium_free(pages) }
    }
}
