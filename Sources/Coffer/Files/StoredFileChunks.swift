public import CofferBase

/// A stored file's content as a sequence of pieces of up to 1 MiB, in order.
///
/// Each piece is authenticated before it is returned. If an error is thrown, discard the earlier pieces. A
/// piece is read on demand, on a separate thread.
public struct StoredFileChunks: AsyncSequence, Sendable {
    /// The bytes of one piece, at least one.
    public typealias Element = [UInt8]
    /// The error that reading throws.
    public typealias Failure = CofferError

    private static let pieceSize: Int64 = 1 << 20

    let reader: StoredFileReader
    let range: Range<Int64>

    /// Creates an iterator that starts at the beginning of the range.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader, rest: range) }

    /// An iterator over the pieces.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: StoredFileReader
        var rest: Range<Int64>

        /// Returns the next piece; `nil` at the end.
        ///
        /// - Throws: `locked`, `wiped`, `corrupt`, `cancelled`.
        public mutating func next() async throws(CofferError) -> [UInt8]? {
            try await next(isolation: nil)
        }

        /// Returns the next piece; `nil` at the end.
        ///
        /// - Throws: `locked`, `wiped`, `corrupt`, `cancelled`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(CofferError) -> [UInt8]? {
            guard !rest.isEmpty else { return nil }
            let end = rest.lowerBound + Swift.min(Int64(rest.count), StoredFileChunks.pieceSize)
            let piece = rest.lowerBound..<end
            let reader = reader
            let bytes = try await BlockingExecutor.run { (cancellation) throws(CofferError) in
                try cancellation.check()
                return try reader.read(at: piece.lowerBound, count: piece.count)
            }
            rest = piece.upperBound..<rest.upperBound
            return bytes
        }
    }
}
