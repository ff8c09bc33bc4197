public import CofferBase
import CofferEngine

extension FileStore {
    /// Calls `body` with the decrypted bytes in `range`, chunk by chunk and in order. No decrypted file is
    /// created.
    ///
    /// Each chunk is authenticated before `body` receives it. If an error is thrown, discard the earlier
    /// chunks.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - range: The range of offsets to read, clamped to the content's length; `nil` for the entire
    ///     content.
    ///   - context: The context that was bound to the file when it was added.
    ///   - body: A closure that is called with about 1 MiB at a time. It may throw errors of any type.
    /// - Throws: `invalidInput` if the range begins before 0; `absent` if there is no such file; `missing` if
    ///   another program deleted the file's container; `locked`, `wiped`, `corrupt`; `cancelled` if the task
    ///   was cancelled; and any error that `body` throws.
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

    /// Calls `body` once with the decrypted bytes in `range`, which are in memory that is cleared afterwards.
    /// No decrypted file is created.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - range: The range of offsets to read, clamped to the content's length; `nil` for the entire
    ///     content.
    ///   - context: The context that was bound to the file when it was added.
    ///   - body: A closure that receives the bytes. It may throw errors of any type.
    /// - Returns: The result of `body`.
    /// - Throws: `invalidInput` if the range begins before 0; `absent` if there is no such file; `missing` if
    ///   another program deleted the file's container; `locked`, `wiped`, `corrupt`; `outOfMemory` if the
    ///   bytes do not fit in memory; `cancelled` if the task was cancelled; and any error that `body` throws.
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

    /// Returns a reader for random access to a file. Each read decrypts only the chunks that it needs.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - context: The context that was bound to the file when it was added.
    /// - Returns: A reader that is valid until the file's class key is evicted.
    /// - Throws: `absent` if there is no such file; `missing` if another program deleted the file's
    ///   container; `locked`, `wiped`, `corrupt`.
    public func reader(for id: FileID, context: [UInt8] = []) async throws(CofferError) -> StoredFileReader {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let mark = core.keys.mark
            let reader = try open(id, context: context)
            let check = try cancellationCheck(
                BlockingExecutor.Cancellation(), since: mark, only: reader.protection)
            return StoredFileReader(reader, check: check)
        }
    }

    /// Verifies a file by decrypting every chunk and discarding the plaintext.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - context: The context that was bound to the file when it was added.
    ///   - progress: A closure that is called from time to time, on worker threads, with the current
    ///     progress.
    /// - Throws: `absent` if there is no such file; `missing` if another program deleted the file's
    ///   container; `locked`, `wiped`, `corrupt`; `cancelled` if the task was cancelled.
    public func verify(
        _ id: FileID, context: [UInt8] = [], progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let check = try cancellationCheck(cancellation)
            try open(id, context: context).verify(check: check, progress: progress)
        }
    }
}
