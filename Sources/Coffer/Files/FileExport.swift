public import CofferBase
import CofferEngine
import CofferVault
import Synchronization
public import SystemPackage

extension FileStore {
    /// Writes the decrypted content to a new file that only this user can read, completely or not at all.
    /// Coffer does not protect that file.
    ///
    /// If the process is killed, nothing appears at `path`. On file systems without unnamed files, and for a
    /// moment while an existing file is replaced, the new file has a temporary name that begins with `.tmp-`,
    /// under which a kill or a power cut at that time leaves it, unencrypted, in the same directory.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - path: The destination.
    ///   - replacing: Whether to replace an existing file at `path` atomically. Its previous content may
    ///     remain readable on the medium.
    ///   - context: The context that was bound to the file when it was added.
    ///   - progress: Called from time to time on worker threads.
    /// - Throws: `alreadyExists`; `refused` if `path` exists and is not a regular file, or is inside the
    ///   vault directory or the vault directory that contains it; `absent`, `locked`, `wiped`, `corrupt`,
    ///   `noSpace`, `cancelled`.
    public func export(
        _ id: FileID, to path: FilePath, replacing: Bool = false, context: [UInt8] = [],
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            try AtomicFile.create(
                at: path, replacing: replacing, outside: core.home
            ) { (file) throws(CofferError) in
                let check = try cancellationCheck(cancellation)
                try Self.write(open(id, context: context), to: file, check, progress)
            }
        }
    }

    private static func write(
        _ reader: ContainerReader, to file: borrowing Descriptor,
        _ check: @escaping @Sendable () throws(CofferError) -> Void,
        _ progress: (@Sendable (FileProgress) -> Void)?
    ) throws(CofferError) {
        try file.reserve(reader.layout.length)
        let done = Atomic<Int64>(0)
        let total = reader.layout.length
        try reader.forEachRun(
            in: 0..<reader.layout.chunkCount, check: check
        ) { (plaintext, offset) throws(CofferError) in
            try file.write(plaintext, at: offset)
            let completed = done.add(Int64(plaintext.count), ordering: .relaxed).newValue
            progress?(FileProgress(completed: completed, total: total))
        }
    }
}
