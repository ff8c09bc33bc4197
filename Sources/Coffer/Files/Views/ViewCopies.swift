import CofferBase
import CofferEngine
import CofferVault
public import SystemPackage

extension FileStore {
    /// Calls `body` with the path of a decrypted copy, which has the file's name and which only this user can
    /// read. The copy is on an in-memory file system. It is removed when `body` returns or throws, even after
    /// cancellation, or earlier if the vault locks. After a crash, the next process that opens the vault
    /// removes the copy.
    ///
    /// The user's other programs can read the copy while it exists. If ``isSwapActive`` is `true`, the kernel
    /// may write the copy to a swap device. Data that a viewer copies elsewhere, such as thumbnails or lists
    /// of recent files, is not removed.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - context: The context that was bound to the file when it was added.
    ///   - body: A closure that uses the copy.
    /// - Returns: The result of `body`.
    /// - Throws: `absent` if there is no such file; `missing` if another program deleted the file's
    ///   container; `locked`, `wiped`, `corrupt`; `noSpace` if the copy would use more than half of the free
    ///   memory; `unsupported` if there is no in-memory file system; and any error that `body` throws.
    public func withViewCopy<Result>(
        of id: FileID, context: [UInt8] = [], _ body: (FilePath) async throws -> Result
    ) async throws -> Result {
        try await withViewCopy(of: id, context: context, options: ViewOptions()) { try await body($0.path) }
    }

    /// Calls `body` with a decrypted copy, as ``withViewCopy(of:context:_:)`` does, and supports a time
    /// limit. The ``ViewCopy`` also provides information for programs that start viewers: the lease that a
    /// child process may inherit, and whether the copy was changed. Changes are lost when the copy is
    /// removed.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - context: The context that was bound to the file when it was added.
    ///   - options: The options for the copy, such as a time limit.
    ///   - body: A closure that uses the copy.
    /// - Returns: The result of `body`.
    /// - Throws: The errors that ``withViewCopy(of:context:_:)`` throws.
    public func withViewCopy<Result>(
        of id: FileID, context: [UInt8] = [], options: ViewOptions,
        _ body: (ViewCopy) async throws -> Result
    ) async throws -> Result {
        try await withCopy(of: id, context, options, permissions: 0o400) { copy, _ in try await body(copy) }
    }

    /// Whether the kernel may write view copies to a swap device that is neither in memory nor encrypted.
    public static var isSwapActive: Bool { FileSystemInfo.isSwapActive() }

    /// Calls `body` with a copy and the reader that made it. The reader contains the file's header from the
    /// time when the copy was made.
    func withCopy<Result>(
        of id: FileID, _ context: [UInt8], _ options: ViewOptions, permissions: UInt32,
        _ body: (ViewCopy, ContainerReader) async throws -> Result
    ) async throws -> Result {
        let (handle, reader) = try await makeViewCopy(of: id, context, permissions)
        defer { activeViews.unregister(handle.number) }
        options.afterLimit { [weak handle] in handle?.expire() }
        let copy = ViewCopy(path: handle.path, isSwappable: Self.isSwapActive, handle: handle)
        do {
            let result = try await body(copy, reader)
            try handle.remove()
            return result
        } catch {
            try? handle.remove()
            throw error
        }
    }

    /// Calls `body` with an empty in-memory directory, for a copy that other processes must not see. A viewer
    /// mounts the copy in that directory, in a separate mount namespace. The directory is removed when `body`
    /// ends or the copy's class key is evicted.
    package func withPrivateMountPoint<Result>(
        for protection: ProtectionClass, _ body: (FilePath) async throws -> Result
    ) async throws -> Result {
        let handle = try await BlockingExecutor.run { [self] _ throws(CofferError) -> ViewCopyHandle in
            try core.managed.policy().requireOpenIn()
            let handle = ViewCopyHandle(try makeViewDirectory(), "file", protection, in: activeViews)
            try handle.makeHolder()
            return handle
        }
        defer { activeViews.unregister(handle.number) }
        let result: Result
        do {
            result = try await body(handle.path.removingLastComponent())
        } catch {
            try? handle.remove()
            throw error
        }
        try handle.remove()
        return result
    }

    private func makeViewCopy(
        of id: FileID, _ context: [UInt8], _ permissions: UInt32
    ) async throws(CofferError) -> (ViewCopyHandle, ContainerReader) {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            try core.managed.policy().requireOpenIn()
            let mark = core.keys.mark
            let reader = try open(id, context: context)
            let check = try cancellationCheck(cancellation, since: mark, only: reader.protection)
            let vault = try core.home.openVault()
            _ = try? ViewCopyDirectory.removeStale(vault: vault)
            let name = try info(of: reader).name
            let handle = ViewCopyHandle(try makeViewDirectory(), name, reader.protection, in: activeViews)
            do throws(CofferError) {
                try MemoryBudget.check(reader.layout.length, inFileSystem: handle.available)
                let file = try handle.makeFile()
                try reader.copy(into: file, check: check)
                try file.setPermissions(permissions)
                // Set the file's own date, which any write to the copy changes.
                try file.setModified(reader.header.modified)
                handle.recordOriginalStatus(try file.status())
                // A lock after the last chunk may have found nothing to remove, or only a part of the copy.
                try check()
                return (handle, reader)
            } catch {
                activeViews.unregister(handle.number)
                try? handle.remove()
                throw error
            }
        }
    }
}

extension ContainerReader {
    /// Writes the complete content to an empty in-memory file.
    func copy(
        into file: borrowing Descriptor, check: @escaping @Sendable () throws(CofferError) -> Void
    ) throws(CofferError) {
        try file.truncate(to: layout.length)
        try forEachRun(in: 0..<layout.chunkCount, check: check) { (plaintext, offset) throws(CofferError) in
            try file.write(plaintext, at: offset)
        }
    }
}

extension FileStore {
    /// Creates a directory for a view. Holds the vault directory's lock; otherwise, two processes could
    /// choose different roots and record only one of them. If another view has just ended and its root was
    /// removed, creates the root again.
    private func makeViewDirectory(tries: Int = 8) throws(CofferError) -> ViewCopyDirectory.ViewDirectory {
        do throws(CofferError) {
            return try core.home.withExclusiveLock { () throws(CofferError) in
                let vault = try core.home.openVault()
                let root = try ViewCopyDirectory.preferred(vault: vault)
                do throws(CofferError) {
                    let view = try ViewCopyDirectory.makeView(in: root, vaultID: core.device.vaultID)
                    return ViewCopyDirectory.ViewDirectory(root: root, view: view)
                } catch {
                    ViewCopyDirectory.removeIfEmpty(root)
                    throw error
                }
            }
        } catch {
            guard error.code == .absent, tries > 0 else { throw error }
            return try makeViewDirectory(tries: tries - 1)
        }
    }
}
