public import CofferBase
import CofferEngine
public import SystemPackage

extension FileStore {
    /// Gives `body` the path of a decrypted copy under the original name, readable by this user alone. The
    /// copy lies in memory and is gone when `body` ends, throws or is cancelled, and when the session locks
    /// meanwhile; after a crash, the next open removes it.
    ///
    /// Not guaranteed: other programs of the same user can read the copy while it is there; memory may be
    /// written to swap (see ``isSwapActive``); what a viewer copies elsewhere (recent files, thumbnails) is
    /// out of reach.
    ///
    /// - Parameters:
    ///   - id: The file.
    ///   - context: What was bound to it when it was added.
    ///   - body: What views the copy.
    /// - Returns: What `body` gives.
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`; `noSpace` when the copy would take more than half of
    ///   the free memory; `unsupported` where there is no memory file system; and what `body` throws.
    public func withViewCopy<Result>(
        of id: FileID, context: [UInt8] = [], _ body: (FilePath) async throws -> Result
    ) async throws -> Result {
        try await withViewCopy(of: id, context: context, options: ViewOptions()) { try await body($0.path) }
    }

    /// The same with a time limit, and with what a program needs that starts viewers: the lease that a child
    /// may inherit, and whether the copy was changed. Changes are dropped with the copy.
    ///
    /// - Parameters:
    ///   - id: The file.
    ///   - context: What was bound to it when it was added.
    ///   - options: When the copy goes by itself.
    ///   - body: What views the copy.
    /// - Returns: What `body` gives.
    /// - Throws: As without options.
    public func withViewCopy<Result>(
        of id: FileID, context: [UInt8] = [], options: ViewOptions,
        _ body: (ViewCopy) async throws -> Result
    ) async throws -> Result {
        try await withCopy(of: id, context, options, permissions: 0o400) { copy, _ in try await body(copy) }
    }

    /// Whether view copies may be written to a swap device that keeps them readable: one that is neither
    /// memory nor encrypted.
    public static var isSwapActive: Bool { FileSystemInfo.isSwapActive() }

    /// A copy as it is lent, with the file's header as it was then.
    func withCopy<Result>(
        of id: FileID, _ context: [UInt8], _ options: ViewOptions, permissions: UInt32,
        _ body: (ViewCopy, ContainerReader) async throws -> Result
    ) async throws -> Result {
        let (hold, reader) = try await makeViewCopy(of: id, context, permissions)
        defer { openViews.forget(hold.number) }
        if let limit = options.limit { hold.end(after: limit) }
        let copy = ViewCopy(path: hold.path, isSwappable: Self.isSwapActive, hold: hold)
        do {
            let result = try await body(copy, reader)
            try hold.remove()
            return result
        } catch {
            try? hold.remove()
            throw error
        }
    }

    /// Gives `body` an empty directory in memory, for a copy that others are not to see: a viewer puts it
    /// there in a mount namespace of its own. Gone when `body` ends, or the key of the copy's class goes.
    package func withPrivateMountPoint<Result>(
        for protection: ProtectionClass, _ body: (FilePath) async throws -> Result
    ) async throws -> Result {
        let hold = try await BlockingExecutor.run { [self] _ throws(CofferError) -> ViewCopyHandle in
            let hold = ViewCopyHandle(try makeViewDirectory(), "file", protection, in: openViews)
            try hold.makeHolder()
            return hold
        }
        defer { openViews.forget(hold.number) }
        let result: Result
        do {
            result = try await body(hold.path.removingLastComponent())
        } catch {
            try? hold.remove()
            throw error
        }
        try hold.remove()
        return result
    }

    private func makeViewCopy(
        of id: FileID, _ context: [UInt8], _ permissions: UInt32
    ) async throws(CofferError) -> (ViewCopyHandle, ContainerReader) {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let mark = core.keys.mark
            let reader = try open(id, context: context)
            let check = try cancellationCheck(cancellation, since: mark, only: reader.protection)
            let vault = try core.home.openVault()
            _ = try? ViewCopyDirectory.removeStale(vault: vault)
            let name = try reader.info.name
            let hold = ViewCopyHandle(try makeViewDirectory(), name, reader.protection, in: openViews)
            do throws(CofferError) {
                try MemoryBudget.check(reader.layout.length, inFileSystem: hold.available)
                let file = try hold.makeFile()
                try reader.copy(into: file, check: check)
                try file.setPermissions(permissions)
                // The file's own date: whoever writes to the copy changes it.
                try file.setModified(reader.header.modified)
                hold.recordOriginalStatus(try file.status())
                // A lock after the last chunk found nothing to remove, or a part of it.
                try check()
                return (hold, reader)
            } catch {
                openViews.forget(hold.number)
                try? hold.remove()
                throw error
            }
        }
    }
}

extension ContainerReader {
    /// Writes the whole content to an empty file in memory.
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
    /// A directory for a view. Under the lock, so that two processes do not each choose a root and record one
    /// of them. A root that another view's end has just removed is made again.
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

extension Vault {
    /// Removes view copies whose owner is dead; gives how many. Opening a session does it, too.
    ///
    /// - Throws: `notInitialised`, `wiped`, or what hinders the removal.
    public static func removeStaleViewCopies(at location: VaultLocation) async throws(CofferError) -> Int {
        try await BlockingExecutor.run { _ throws(CofferError) in
            let vault = try VaultDirectory.openDirectory(location).openVault()
            return try ViewCopyDirectory.removeStale(vault: vault)
        }
    }
}
