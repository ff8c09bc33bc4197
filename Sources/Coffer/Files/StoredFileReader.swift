public import CofferBase
import CofferEngine
import Synchronization

/// A stored file that is open for random access. Each read decrypts only the chunks that contain the
/// requested bytes, and reuses the ciphers and buffers of earlier reads.
///
/// The reader works until the file's class key is evicted, for example by a lock; after that, every read
/// throws `locked` or, if the vault was wiped, `wiped`.
///
/// ```swift
/// let reader = try await vault.files.reader(for: id)
/// let page = try reader.read(at: 4096 * 7, count: 4096)
/// for try await chunk in reader.chunks { hash.update(chunk) }
/// ```
public final class StoredFileReader: Sendable {
    private let reader: ContainerReader
    private let check: @Sendable () throws(CofferError) -> Void
    /// The ciphers and buffers from the last read. A concurrent read creates its own.
    private let idle = Mutex<ContainerReader.Worker?>(nil)

    init(_ reader: ContainerReader, check: @escaping @Sendable () throws(CofferError) -> Void) {
        self.reader = reader
        self.check = check
    }

    /// The file's length in bytes.
    public var length: Int64 { reader.layout.length }

    /// The file's entire content as a sequence of chunks.
    public var chunks: StoredFileChunks { StoredFileChunks(reader: self, range: 0..<length) }

    /// Returns the bytes in a range as a sequence of chunks.
    ///
    /// - Parameter range: The range of offsets to read, clamped to the file's length.
    /// - Returns: The chunks, which are read on demand.
    /// - Throws: `invalidInput` if the range begins before 0.
    public func chunks(in range: Range<Int64>) throws(CofferError) -> StoredFileChunks {
        StoredFileChunks(reader: self, range: try FileStore.clamp(range, to: length))
    }

    /// Reads bytes into `buffer`, beginning at `offset`. If the file ends before the buffer is full, fewer
    /// bytes are read. This method blocks the calling thread.
    ///
    /// - Parameters:
    ///   - offset: The offset of the first byte. If it is at or past the end of the file, no bytes are read.
    ///   - buffer: The destination. If an error occurs during reading, the buffer is cleared.
    /// - Returns: The number of bytes read.
    /// - Throws: `invalidInput` if the offset is negative; `locked`, `wiped`, `corrupt`.
    public func read(
        at offset: Int64, into buffer: inout MutableSpan<UInt8>
    ) throws(CofferError) -> Int {
        guard offset >= 0 else { throw CofferError(.invalidInput, "An offset must be 0 or more.") }
        try check()
        let start = min(offset, length)
        let wanted = start..<start + min(Int64(buffer.count), length - start)
        guard !wanted.isEmpty else { return 0 }
        var worker: ContainerReader.Worker
        switch idle.withLock({ $0.take() }) {
        case .some(let kept): worker = kept
        case .none: worker = try reader.worker(chunks: 1)
        }
        do throws(CofferError) {
            for index in reader.chunks(of: wanted) {
                if index > wanted.lowerBound >> Int64(reader.layout.chunkSizeLog2) { try check() }
                try reader.read(index, of: wanted, into: &buffer, worker: &worker)
            }
        } catch {
            buffer.clear()
            throw error
        }
        keep(worker)
        return wanted.count
    }

    private func keep(_ worker: consuming ContainerReader.Worker) {
        var worker: ContainerReader.Worker? = consume worker
        idle.withLock { if let kept = worker.take() { $0 = consume kept } }
    }

    /// Returns up to `count` bytes, beginning at `offset`. This method blocks the calling thread.
    ///
    /// - Parameters:
    ///   - offset: The offset of the first byte.
    ///   - count: The maximum number of bytes to read.
    /// - Returns: The bytes, which are fewer than `count` if the file ends before then.
    /// - Throws: `invalidInput` if the offset or the count is negative; `locked`, `wiped`, `corrupt`.
    public func read(at offset: Int64, count: Int) throws(CofferError) -> [UInt8] {
        guard offset >= 0, count >= 0 else {
            throw CofferError(.invalidInput, "An offset and a count must be 0 or more.")
        }
        let there = Int(clamping: max(0, length - offset))
        var bytes = [UInt8](repeating: 0, count: min(count, there))
        var span = bytes.mutableSpan
        _ = try read(at: offset, into: &span)
        return bytes
    }
}
