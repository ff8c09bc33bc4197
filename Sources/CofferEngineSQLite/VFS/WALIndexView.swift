import CSQLite
import Glibc
import Synchronization

/// The index of a WAL as one connection sees it: the shared memory of all connections, at addresses of this
/// connection's own, so that it can be taken from this connection alone.
///
/// SQLite asks the VFS before it uses a page that it has in memory, except for pages that it finds in this
/// index. Without the index, it asks for those too.
final class WALIndexView: Sendable {
    /// Whole pages of memory that contain a region.
    private struct Mapping {
        let start: UInt
        let count: Int
        /// The address of the region.
        let region: UInt
    }

    private struct State {
        var mappings: [Int32: Mapping] = [:]
        /// The exclusive locks on the index. SQLite writes to it only while it has one.
        var exclusiveLocks: Int32 = 0
        /// Whether the index is to be taken away once no lock is exclusive.
        var isDoomed = false
        var isWithdrawn = false

        /// Puts zeros, under which no page is found, in the place of the index. The shared memory, which
        /// other connections use, stays as it is.
        mutating func withdraw() {
            guard isDoomed, exclusiveLocks == 0, !isWithdrawn else { return }
            isWithdrawn = true
            for mapping in mappings.values {
                let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE
                unsafe mmap(
                    UnsafeMutableRawPointer(bitPattern: mapping.start), mapping.count,
                    PROT_READ | PROT_WRITE, flags, -1, 0)
            }
        }

        mutating func unmap() {
            for mapping in mappings.values {
                unsafe munmap(UnsafeMutableRawPointer(bitPattern: mapping.start), mapping.count)
            }
            mappings = [:]
            exclusiveLocks = 0
        }
    }

    private let state = Mutex(State())

    deinit { unmap() }

    /// Returns the connection's own address of a region that is mapped at `address`; `nil` once the index was
    /// taken away. Where the system maps no memory twice, the address stays the same and the region cannot be
    /// taken away.
    func map(_ region: Int32, at address: UInt, size: Int) -> UInt? {
        state.withLock { state in
            guard !state.isWithdrawn else { return nil }
            if let known = state.mappings[region] { return known.region }
            let page = UInt(sysconf(Int32(_SC_PAGESIZE)))
            let offset = address % page
            let count = (Int(offset) + size + Int(page) - 1) / Int(page) * Int(page)
            let start = csqlite_map_again(address - offset, UInt(count))
            guard start != -1 else { return address }
            let mapping = Mapping(
                start: UInt(bitPattern: start), count: count, region: UInt(bitPattern: start) + offset)
            state.mappings[region] = mapping
            return mapping.region
        }
    }

    /// Records that exclusive locks are about to be acquired. Returns whether they may be.
    func willLock(_ count: Int32) -> Bool {
        state.withLock { state in
            guard !state.isDoomed else { return false }
            state.exclusiveLocks += count
            return true
        }
    }

    /// Records that exclusive locks were released, or not acquired.
    func didUnlock(_ count: Int32) {
        state.withLock { state in
            state.exclusiveLocks = max(0, state.exclusiveLocks - count)
            state.withdraw()
        }
    }

    /// Takes the index away: at once, or when a transaction that writes has ended.
    func withdraw() {
        state.withLock { state in
            state.isDoomed = true
            state.withdraw()
        }
    }

    /// Ends the view, before the shared memory is unmapped.
    func unmap() { state.withLock { $0.unmap() } }
}
