public import CofferBase

/// A stored file's content as a sequence of pieces of up to 1 MiB, in order.
///
/// Each piece is authentic when it comes. When an error is thrown, discard what came before. A piece is
/// read when it is asked for, on a thread of its own.
public struct StoredFileChunks: AsyncSequence, Sendable {
    /// The bytes of one piece, at least one.
    public typealias Element = [UInt8]
    /// What reading throws.
    public typealias Failure = CofferError

    private static let pieceSize: Int64 = 1 << 20

    let reader: StoredFileReader
    let range: Range<Int64>

    /// Starts at the beginning of the range.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader, rest: range) }

    /// Where a walk over the pieces is.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: StoredFileReader
        var rest: Range<Int64>

        /// The next piece; `nil` at the end.
        ///
        /// - Throws: `locked`, `wiped`, `corrupt`, `cancelled`.
        public mutating func next() async throws(CofferError) -> [UInt8]? {
            try await next(isolation: nil)
        }

        /// The next piece; `nil` at the end.
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
