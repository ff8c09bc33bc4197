public import CofferBase
import CofferEngine

/// A stored file, open for reading at any place. Each read opens the chunks that hold the bytes and no
/// others.
///
/// It works as long as the session stays unlocked: after a lock every read throws `locked`.
public final class StoredFileReader: Sendable {
    private let reader: ContainerReader
    private let check: @Sendable () throws(CofferError) -> Void

    init(_ reader: ContainerReader, check: @escaping @Sendable () throws(CofferError) -> Void) {
        self.reader = reader
        self.check = check
    }

    /// The length in bytes.
    public var length: Int64 { reader.layout.length }

    /// Reads up to `count` bytes at `offset`; fewer at the end of the file. Blocks the calling thread.
    ///
    /// - Throws: `invalidInput` for a negative offset or count; `locked`, `wiped`, `corrupt`.
    public func read(at offset: Int64, count: Int) throws(CofferError) -> [UInt8] {
        guard offset >= 0, count >= 0 else {
            throw CofferError(.invalidInput, "An offset and a count are 0 or more.")
        }
        try check()
        let start = min(offset, length)
        let wanted = start..<start + min(Int64(count), length - start)
        guard !wanted.isEmpty else { return [] }
        let buffer = try AlignedBuffer.make(count: wanted.count)
        try reader.read(wanted, into: buffer, threads: 1, check: check)
        return buffer.read(0..<wanted.count) { $0.copied() }
    }
}
