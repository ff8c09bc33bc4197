import CofferBase
import CofferEngine
import Synchronization

/// New headers of containers that are written together, because a disk flushes many files at the same time
/// much faster than one after the other.
///
/// Each header goes to the slot that is not current, and no current slot is written before all of these are
/// flushed. At any time, every container has an intact slot on the disk; and where both slots have the same
/// new header, it is on the disk.
struct HeaderBatch {
    /// A header that is to replace that of a container.
    struct NewHeader {
        /// The slot's bytes.
        let bytes: [UInt8]
        /// The position of the slot that is current now: 0 or 1.
        let current: Int
        /// Whether the slots have no remains of an interrupted update.
        let isSettled: Bool

        /// The positions of the slots, in the order in which they are written.
        var places: [Int] { [1 - current, current] }

        /// Writes the header to the container `file` alone, in the same order as a batch. Call this method
        /// while holding the vault directory's lock.
        func write(to file: borrowing Descriptor) throws(CofferError) {
            // After an interruption, the slot that is current may not be on the disk yet.
            if !isSettled { try file.syncData() }
            for place in places {
                try file.write(bytes.span, at: Int64(place * ContainerHeaderSlot.size))
                try file.syncData()
            }
        }
    }

    private final class Entry: Sendable {
        let file: Descriptor
        let bytes: [UInt8]
        let places: [Int]
        let isSettled: Bool

        init(_ file: consuming Descriptor, _ header: NewHeader) {
            self.file = file
            bytes = header.bytes
            places = header.places
            isSettled = header.isSettled
        }
    }

    /// The number of threads that wait for the disk. More than there are processors, because they only wait.
    private static let threads = 8

    private var entries: [Entry] = []

    /// Adds the new header of the container `file`, which stays open until the batch is written.
    mutating func add(_ header: NewHeader, of file: consuming Descriptor) {
        entries.append(Entry(file, header))
    }

    /// Writes all headers. Call this method while holding the vault directory's lock. After an error, each
    /// container has its former header or the new one.
    func write() throws(CofferError) {
        // After an interruption, the slot that is current may not be on the disk yet.
        try Self.flush(entries.filter { !$0.isSettled })
        for step in 0..<2 {
            for entry in entries {
                let bytes = entry.bytes
                try entry.file.write(bytes.span, at: Int64(entry.places[step] * ContainerHeaderSlot.size))
            }
            try Self.flush(entries)
        }
    }

    /// Flushes the files of `entries`, several at the same time. Throws the first error.
    private static func flush(_ entries: [Entry]) throws(CofferError) {
        let next = Atomic(0)
        let failure = Mutex<CofferError?>(nil)
        Threads.run(min(entries.count, threads)) {
            while failure.withLock({ $0 == nil }) {
                let place = next.add(1, ordering: .relaxed).oldValue
                guard place < entries.count else { return }
                do throws(CofferError) {
                    try entries[place].file.syncData()
                } catch {
                    failure.withLock { $0 = $0 ?? error }
                }
            }
        }
        if let error = failure.withLock({ $0 }) { throw error }
    }
}
