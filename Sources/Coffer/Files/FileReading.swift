public import CofferBase
import CofferEngine

extension FileStore {
    /// Gives `body` the bytes of `range` piece by piece and in order; no file is made.
    ///
    /// Each piece is authentic when `body` sees it. When an error is thrown, discard what came before.
    ///
    /// - Parameters:
    ///   - id: The file.
    ///   - range: Offsets into the plaintext, cut to its length; `nil` for all of it.
    ///   - context: What was bound to it when it was added.
    ///   - body: Called with about 1 MiB at a time.
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`, and what `body` throws.
    public func readChunks(
        of id: FileID, range: Range<Int64>? = nil, context: [UInt8] = [],
        _ body: @escaping @Sendable (Span<UInt8>) throws(CofferError) -> Void
    ) async throws(CofferError) {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let check = try cancellationCheck(cancellation)
            let reader = try open(id, context: context)
            let wanted = try Self.clamp(range, to: reader.layout.length)
            try reader.forEachRun(
                in: reader.chunks(of: wanted), threads: 1, check: check
            ) { (plaintext, offset) throws(CofferError) in
                let part = wanted.clamped(to: offset..<offset + Int64(plaintext.count))
                try body(plaintext.extracting(Int(part.lowerBound - offset)..<Int(part.upperBound - offset)))
            }
        }
    }

    /// Gives `body` the bytes of `range` at once, in memory that is cleared afterwards; no file is made.
    ///
    /// - Parameters:
    ///   - id: The file.
    ///   - range: Offsets into the plaintext, cut to its length; `nil` for all of it.
    ///   - context: What was bound to it when it was added.
    ///   - body: What uses the bytes.
    /// - Returns: What `body` gives.
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`, `outOfMemory`, and what `body` throws.
    public func withDecryptedBytes<Result: Sendable>(
        of id: FileID, range: Range<Int64>? = nil, context: [UInt8] = [],
        _ body: @escaping @Sendable (Span<UInt8>) throws(CofferError) -> Result
    ) async throws(CofferError) -> Result {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let check = try cancellationCheck(cancellation)
            let reader = try open(id, context: context)
            let wanted = try Self.clamp(range, to: reader.layout.length)
            let buffer = try AlignedBuffer.make(count: max(wanted.count, 1))
            try reader.read(wanted, into: buffer, check: check)
            return try buffer.read(0..<wanted.count, body)
        }
    }

    /// Opens a file for reads at any place, each of which opens only the chunks it needs.
    ///
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`.
    public func reader(for id: FileID, context: [UInt8] = []) async throws(CofferError) -> StoredFileReader {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let mark = core.keys.mark
            let reader = try open(id, context: context)
            let check = try cancellationCheck(
                BlockingExecutor.Cancellation(), since: mark, only: reader.protection)
            return StoredFileReader(reader, check: check)
        }
    }

    /// Opens every chunk without keeping anything.
    ///
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`.
    public func verify(
        _ id: FileID, context: [UInt8] = [], progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let check = try cancellationCheck(cancellation)
            try open(id, context: context).verify(check: check, progress: progress)
        }
    }
}
