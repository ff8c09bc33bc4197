import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials
import SystemPackage

extension FileStore {
    /// Opens the container with the given identifier.
    func open(_ id: FileID, context: [UInt8] = []) throws(CofferError) -> ContainerReader {
        do throws(CofferError) {
            return try openWithoutRetry(id, context: context)
        } catch {
            guard error.code == .foreign || error.code == .corrupt else { throw error }
            // A key rotation may be in progress: try again under the lock, while no other process can change
            // the vault.
            let reader: ContainerReader?
            do throws(CofferError) {
                reader = try core.home.withExclusiveVault { (vault) throws(CofferError) in
                    // Another process may have crashed while it replaced the content or changed the class.
                    let directory = try openDirectory()
                    try? cleanUp(directory, in: vault)
                    try finishReclassification(of: id, context, directory, in: vault)
                    return try openWithoutRetry(id, context: context)
                }
            } catch let second {
                guard second.code == error.code || second.code == .busy || second.systemError != nil else {
                    throw second
                }
                reader = nil
            }
            guard let reader else { throw error }
            return reader
        }
    }

    /// Completes an interrupted change of the class. Only a locked class is an error, because the caller
    /// reports all others itself.
    private func finishReclassification(
        of id: FileID, _ context: [UInt8], _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) {
        do throws(CofferError) {
            try completeReclassification(of: id, context, directory, in: vault)
        } catch {
            if error.code == .locked { throw error }
        }
    }

    private func openWithoutRetry(_ id: FileID, context: [UInt8]) throws(CofferError) -> ContainerReader {
        let keys = try fileKeys()
        let file = try openContainer(id, .read)
        let reader = try ContainerReader.open(
            file, id: id, device: core.device, keys: keys, context: context, volatileKeys: volatileKeys
        ) { (protection) throws(CofferError) in
            try core.keys.key(protection)
        }
        if keys.hasIndex { try checkEntry(of: reader.header, reader.protection) }
        return reader
    }

    /// Returns the currently recorded file keys.
    func fileKeys() throws(CofferError) -> FileKeyset {
        try core.refreshKeys()
        let vault = try core.home.openVault()
        return try core.home.mappingMissingFiles { () throws(CofferError) in
            try FileKeysetRecord(device: core.device).read(in: vault).keys
        }
    }

    /// Opens a container's file.
    func openContainer(_ id: FileID, _ mode: Descriptor.Mode) throws(CofferError) -> Descriptor {
        let directory = try openDirectory()
        do throws(CofferError) {
            return try directory.open(id.fileName, mode)
        } catch {
            guard error.code == .absent else { throw error }
            throw try absence(of: id)
        }
    }

    func openDirectory() throws(CofferError) -> Descriptor {
        let vault = try core.home.openVault()
        return try core.home.mappingMissingFiles { () throws(CofferError) in
            let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
            let status = try directory.status()
            guard status.isOwn, status.permissions & 0o022 == 0 else {
                throw CofferError(
                    .refused,
                    "\(directory.path) must be a directory that belongs to this user and that only this "
                        + "user can write to.")
            }
            return directory
        }
    }

    /// Returns the identifiers of the containers, in no particular order.
    func ids() throws(CofferError) -> [FileID] { try inspectDirectory().ids }

    /// Returns the identifiers of the containers, and whether the directory also holds unfinished files.
    func inspectDirectory() throws(CofferError) -> (ids: [FileID], hasUnfinished: Bool) {
        let names = try openDirectory().names()
        let ids = names.compactMap { FileID(fileName: $0) }
        let hasUnfinished =
            ids.count < names.count && names.contains { FileID(temporaryName: $0) != nil }
        return (ids, hasUnfinished)
    }

    /// Creates a container under a temporary name, calls `fill` to write the container, flushes it and
    /// renames it to its final name. If `isVolatile` is `true`, the inner key is the session's.
    func addContainer(
        _ id: FileID, _ protection: ProtectionClass, _ classKey: ClassKey, isVolatile: Bool = false,
        _ check: () throws(CofferError) -> Void,
        _ fill: (borrowing Descriptor, _ outer: FileKEK, _ inner: FileKEK) throws(CofferError) -> InnerHeader
    ) throws(CofferError) {
        let directory = try openDirectory()
        let temporary = id.temporaryName
        // The lock on the unfinished file shows other processes that its owner is alive, so they remove
        // neither the file nor the keys that it is wrapped under. Closing the descriptor releases the lock.
        let begun: PendingContainer = try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try beginWrite(id, protection, classKey, isVolatile: isVolatile, directory, in: vault)
        }
        let session = begun.session
        let file = begun.file
        do throws(CofferError) {
            let header = try fill(file, begun.outer, begun.inner)
            try file.sync()
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try check()
                // The class key may have been removed with the passcode, or replaced, while a long file was
                // sealed.
                try requireCurrent(classKey, protection)
                if let session { try volatileKeys.requireCurrent(session, protection) }
                try insert(header, protection, in: vault)
                try directory.renameWithoutReplacing(temporary, to: id.fileName)
                try directory.sync()
            }
        } catch {
            rollBack(id, directory)
            guard error.code == .absent else { throw error }
            return try core.home.mappingMissingFiles { () throws(CofferError) in throw error }
        }
        // The lock on the file stays until this process's session ends.
        if let session, session.kek.keeper == .process { session.hold(id, file) }
    }

    /// Throws an error unless `classKey` is the class's current key, under which a container may be written.
    func requireCurrent(
        _ classKey: ClassKey, _ protection: ProtectionClass
    ) throws(CofferError) {
        guard try core.keyForStoring(protection).id == classKey.id else { throw CofferError.keysReplaced }
    }

    /// Creates an empty, locked container under its temporary name, and returns the container with the keys
    /// that will wrap its file keys.
    func beginWrite(
        _ id: FileID, _ protection: ProtectionClass, _ classKey: ClassKey, isVolatile: Bool = false,
        _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) -> PendingContainer {
        try requireCurrent(classKey, protection)
        try cleanUpIfDue(directory, in: vault)
        let (outer, inner) = try FileKeysetRecord(device: core.device).current(
            protection, classKey: classKey, in: vault)
        let session = isVolatile ? try currentSession(protection, classKey) : nil
        // A process that crashed while replacing the same file may have left an unfinished file.
        if try directory.status(of: id.temporaryName) != nil { try cleanUp(directory, in: vault) }
        do throws(CofferError) {
            let file = try directory.open(id.temporaryName, [.readWrite, .exclusive])
            try file.lock()
            return PendingContainer(
                file: file, outer: outer, inner: session?.kek ?? inner, session: session)
        } catch {
            guard error.code == .alreadyExists else { throw error }
            throw CofferError(
                .busy, "Another process is replacing the content of file \(id). Try again later.")
        }
    }

    /// A container that is being written, and the keys that will wrap its file keys.
    struct PendingContainer: ~Copyable {
        let file: Descriptor
        let outer: FileKEK
        let inner: FileKEK
        /// The session of a session-only file; `nil` for an ordinary file.
        let session: VolatileFileSession?
    }

    /// Removes a complete or unfinished container. Overwrites its wrapped keys first, because freed blocks
    /// keep their content.
    static func removeContainer(
        _ name: FilePath, in directory: borrowing Descriptor
    ) throws(CofferError) {
        guard try directory.status(of: name) != nil else { return }
        let file = try directory.open(name, .readWrite)
        do throws(CofferError) {
            try destroyHeader(of: file)
        } catch {
            guard error.code == .noSpace else { throw error }
            // On a full copy-on-write file system, overwriting needs space, so free the space of the content
            // first. If that is not enough, only removing the file frees space.
            try? file.truncate(to: ContainerLayout.headerSize)
            try? destroyHeader(of: file)
        }
        try directory.remove(name)
    }

    /// Overwrites the header in place with random bytes. This destroys the wrapped file keys, so no remaining
    /// key can open the container.
    static func destroyHeader(of file: borrowing Descriptor) throws(CofferError) {
        var header = [UInt8](repeating: 0, count: Int(ContainerLayout.headerSize))
        var span = header.mutableSpan
        // The header is written last, so most unfinished containers have none.
        guard try file.read(at: 0, into: &span) > 0, header.contains(where: { $0 != 0 }) else { return }
        let random = try SecureRandom.bytes(header.count)
        try file.write(random.span, at: 0)
        try file.syncData()
    }

    static func clamp(_ range: Range<Int64>?, to length: Int64) throws(CofferError) -> Range<Int64> {
        guard let range else { return 0..<length }
        guard range.lowerBound >= 0 else {
            throw CofferError(.invalidInput, "A byte range must begin at 0 or later.")
        }
        return range.clamped(to: 0..<length)
    }
}

extension ContainerReader {
    /// Returns the file's description, with the given name.
    func info(named bytes: [UInt8]) throws(CofferError) -> FileInfo {
        guard let name = FilePath.Component(bytes: bytes) else {
            throw CofferError(
                .corrupt, "The container has an invalid file name.", remedy: .restoreOrRemoveFile)
        }
        return FileInfo(
            id: header.id, name: name, length: layout.length,
            modified: Date(nanosecondsSince1970: header.modified), protection: protection, state: .stored,
            isVolatile: header.keeper != nil)
    }
}

extension FilePath.Component {
    /// The name's bytes as stored on disk.
    var bytes: [UInt8] { FileNameBytes.of(self) }

    /// Creates a name from its bytes; returns `nil` if the bytes cannot be the name of a directory entry.
    init?(bytes: [UInt8]) {
        guard let component = FileNameBytes.component(bytes), component.kind == .regular else { return nil }
        self = component
    }
}
