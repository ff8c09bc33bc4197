public import CofferBase

/// A stored file's content as a sequence of chunks of up to 1 MiB, in order.
///
/// Each chunk is authenticated before it is returned. If an error is thrown, discard the earlier chunks. Each
/// chunk is read on demand, on a separate thread.
public struct StoredFileChunks: AsyncSequence, Sendable {
    /// The bytes of one chunk, which is never empty.
    public typealias Element = [UInt8]
    /// The type of error that reading throws.
    public typealias Failure = CofferError

    private static let chunkSize: Int64 = 1 << 20

    let reader: StoredFileReader
    let range: Range<Int64>

    /// Creates an iterator that starts at the beginning of the range.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader, remaining: range) }

    /// An iterator over a stored file's chunks.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: StoredFileReader
        var remaining: Range<Int64>

        /// Returns the next chunk; returns `nil` at the end of the range.
        ///
        /// - Throws: `locked`, `wiped`, `corrupt`; `cancelled` if the task was cancelled.
        public mutating func next() async throws(CofferError) -> [UInt8]? {
            try await next(isolation: nil)
        }

        /// Returns the next chunk of at most 1 MiB.
        ///
        /// - Parameter actor: The actor to which the call is isolated.
        /// - Returns: The chunk's bytes; `nil` at the end of the range.
        /// - Throws: `locked`, `wiped`, `corrupt`; `cancelled` if the task was cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(CofferError) -> [UInt8]? {
            guard !remaining.isEmpty else { return nil }
            let end = remaining.lowerBound + Swift.min(Int64(remaining.count), StoredFileChunks.chunkSize)
            let chunk = remaining.lowerBound..<end
            let reader = reader
            let bytes = try await BlockingExecutor.run { (cancellation) throws(CofferError) in
                try cancellation.check()
                return try reader.read(at: chunk.lowerBound, count: chunk.count)
            }
            remaining = chunk.upperBound..<remaining.upperBound
            return bytes
        }
    }
}
