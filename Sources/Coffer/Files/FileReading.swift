public import CofferBase
import CofferEngine

extension FileStore {
    /// Calls `body` with the bytes in `range` chunk by chunk, in order. No file is created.
    ///
    /// Each chunk is authenticated before `body` receives it. If an error is thrown, discard the earlier
    /// chunks.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - range: Offsets into the plaintext, clamped to its length; `nil` for all of it.
    ///   - context: The context that was bound to the file when it was added.
    ///   - body: Called with about 1 MiB at a time. It may throw errors of any type.
    /// - Throws: `invalidInput` for a range that begins before 0; `absent`, `locked`, `wiped`, `corrupt`,
    ///   `cancelled`, and any error that `body` throws.
    public func readChunks<Failure: Error>(
        of id: FileID, range: Range<Int64>? = nil, context: [UInt8] = [],
        _ body: @escaping @Sendable (Span<UInt8>) throws(Failure) -> Void
    ) async throws {
        let caller = CallerErrors()
        try await caller.rethrowing { () async throws(CofferError) in
            try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
                let check = try cancellationCheck(cancellation)
                let reader = try open(id, context: context)
                let wanted = try Self.clamp(range, to: reader.layout.length)
                try reader.forEachRun(
                    in: reader.chunks(of: wanted), threads: 1, check: check
                ) { (plaintext, offset) throws(CofferError) in
                    let part = wanted.clamped(to: offset..<offset + Int64(plaintext.count))
                    let bounds = Int(part.lowerBound - offset)..<Int(part.upperBound - offset)
                    try caller.carrying { try body(plaintext.extracting(bounds)) }
                }
            }
        }
    }

    /// Calls `body` once with the bytes in `range`, in memory that is cleared afterwards. No file is created.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - range: Offsets into the plaintext, clamped to its length; `nil` for all of it.
    ///   - context: The context that was bound to the file when it was added.
    ///   - body: Receives the bytes. It may throw errors of any type.
    /// - Returns: The result of `body`.
    /// - Throws: `invalidInput` for a range that begins before 0; `absent`, `locked`, `wiped`, `corrupt`,
    ///   `outOfMemory`, `cancelled`, and any error that `body` throws.
    public func withDecryptedBytes<Result: Sendable, Failure: Error>(
        of id: FileID, range: Range<Int64>? = nil, context: [UInt8] = [],
        _ body: @escaping @Sendable (Span<UInt8>) throws(Failure) -> Result
    ) async throws -> Result {
        let caller = CallerErrors()
        return try await caller.rethrowing { () async throws(CofferError) in
            try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
                let check = try cancellationCheck(cancellation)
                let reader = try open(id, context: context)
                let wanted = try Self.clamp(range, to: reader.layout.length)
                let buffer = try AlignedBuffer.make(count: max(wanted.count, 1))
                try reader.read(wanted, into: buffer, check: check)
                return try buffer.read(0..<wanted.count) { (bytes) throws(CofferError) in
                    try caller.carrying { try body(bytes) }
                }
            }
        }
    }

    /// Opens a file for random access. Each read opens only the chunks that it needs.
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

    /// Opens every chunk and discards the plaintext.
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
