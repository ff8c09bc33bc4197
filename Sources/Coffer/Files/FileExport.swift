public import CofferBase
import CofferEngine
import CofferVault
import Synchronization
public import SystemPackage

extension FileStore {
    /// Writes a file's decrypted content to a new file that only this user can read. The new file is written
    /// completely or not at all, and Coffer does not protect it.
    ///
    /// If the process is killed, no incomplete file appears at `path`. However, on file systems without
    /// unnamed files, and briefly while an existing file is replaced, the new file has a temporary name that
    /// begins with `.tmp-`. If the process is killed or the power fails at that time, the new file remains
    /// under the temporary name, unencrypted, in the same directory.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - path: The new file's path.
    ///   - replacing: Whether to replace an existing file at `path` atomically. Its previous content may
    ///     remain readable on the medium.
    ///   - context: The context that was bound to the file when it was added.
    ///   - progress: A closure that is called from time to time, on worker threads, with the current
    ///     progress.
    /// - Throws: `alreadyExists` if `path` exists and `replacing` is `false`; `refused` if `path` exists and
    ///   is not a regular file, or is inside the vault directory or the vault directory that contains it;
    ///   `absent` if there is no such file; `missing` if another program deleted the file's container;
    ///   `locked`, `wiped`, `corrupt`, `noSpace`; `cancelled` if the task was cancelled.
    public func export(
        _ id: FileID, to path: FilePath, replacing: Bool = false, context: [UInt8] = [],
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            try core.managed.policy().require(.allowFileExport, toAllow: "exporting files")
            try core.managed.policy().requireOpenIn()
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
