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
            return try directory.openContainer(id.fileName, mode)
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

    /// Returns the identifiers of the containers, and whether the directory also holds unfinished files. What
    /// is not a regular file is no container: another program put it there.
    func inspectDirectory() throws(CofferError) -> (ids: [FileID], hasUnfinished: Bool) {
        let entries = try openDirectory().entries()
        let names = entries.map(\.name)
        let ids = entries.compactMap { $0.isRegular ? FileID(fileName: $0.name) : nil }
        let hasUnfinished =
            ids.count < names.count && names.contains { FileID(temporaryName: $0) != nil }
        return (ids, hasUnfinished)
    }

    /// Creates a container under a temporary name, calls `fill` to write the container, flushes it and
    /// renames it to its final name. If `isVolatile` is `true`, the inner key is the session's. `context` is
    /// what `fill` binds to the container.
    func addContainer(
        _ id: FileID, _ protection: ProtectionClass, _ context: [UInt8], isVolatile: Bool = false,
        _ check: () throws(CofferError) -> Void,
        _ fill: (borrowing Descriptor, _ keys: ContainerKeys) throws(CofferError) -> InnerHeader
    ) throws(CofferError) {
        let directory = try openDirectory()
        let temporary = id.temporaryName
        // The lock on the unfinished file shows other processes that its owner is alive, so they remove
        // neither the file nor the keys that it is wrapped under. Closing the descriptor releases the lock.
        let begun: PendingContainer = try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try beginWrite(id, protection, isVolatile: isVolatile, directory, in: vault)
        }
        let session = begun.session
        do throws(CofferError) {
            let header = try fill(begun.file, begun.keys)
            try begun.file.sync()
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try check()
                try takeCurrentKeys(begun, id, protection, context, in: vault)
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
        if let session, session.kek.keeper == .process { session.hold(id, begun.file) }
    }

    /// Wraps the file keys of a finished container under the current keys, if the class key was replaced
    /// while the container was written. Throws an error if the class key was removed with the passcode.
    ///
    /// The replaced keys still exist: a rotation destroys none while another process writes a container.
    func takeCurrentKeys(
        _ begun: borrowing PendingContainer, _ id: FileID, _ protection: ProtectionClass, _ context: [UInt8],
        in vault: borrowing Descriptor
    ) throws(CofferError) {
        let classKey = try core.keyForStoring(protection)
        if let session = begun.session { try volatileKeys.requireCurrent(session, protection) }
        guard classKey.id != begun.keys.classKey.id else { return }
        // After another passcode, a class has a new key that opens nothing of the old one.
        guard classKey.former?.id == begun.keys.classKey.id else { throw CofferError.keysReplaced }
        // The session's key is derived from the class key, or belongs to this process.
        if let session = begun.session {
            guard session.kek.keeper == .process else { throw CofferError.keysReplaced }
            return
        }
        let record = FileKeysetRecord(device: core.device)
        _ = try record.current(protection, classKey: classKey, in: vault)
        let keys = try record.read(in: vault).keys
        let slots = try ContainerHeader.read(begun.file, keys: keys, device: core.device)
        let (outcome, header) = try ContainerRewrap(device: core.device, keys: keys, context: context)
            .newHeader(replacing: slots, id: id, always: false, classKey: classKey)
        guard outcome != .outerOnly else { throw CofferError.keysReplaced }
        try header?.write(to: begun.file)
    }

    /// Creates an empty, locked container under its temporary name, and returns the container with the keys
    /// that will wrap its file keys.
    func beginWrite(
        _ id: FileID, _ protection: ProtectionClass, isVolatile: Bool = false,
        _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) -> PendingContainer {
        let classKey = try core.keyForStoring(protection)
        try cleanUpIfDue(directory, in: vault)
        let (outer, inner) = try FileKeysetRecord(device: core.device).current(
            protection, classKey: classKey, in: vault)
        let session = isVolatile ? try currentSession(protection, classKey) : nil
        // A process that crashed while replacing the same file may have left an unfinished file.
        if try directory.status(of: id.temporaryName) != nil { try cleanUp(directory, in: vault) }
        do throws(CofferError) {
            let file = try directory.open(id.temporaryName, [.readWrite, .exclusive])
            try file.lock()
            let keys = ContainerKeys(classKey: classKey, outer: outer, inner: session?.kek ?? inner)
            return PendingContainer(file: file, keys: keys, session: session)
        } catch {
            guard error.code == .alreadyExists else { throw error }
            throw CofferError(
                .busy, "Another process is replacing the content of file \(id). Try again later.")
        }
    }

    /// The class key under which a container is begun, and the keys that wrap its file keys.
    struct ContainerKeys {
        let classKey: ClassKey
        let outer: FileKEK
        let inner: FileKEK
    }

    /// A container that is being written, and the keys that will wrap its file keys.
    struct PendingContainer: ~Copyable {
        let file: Descriptor
        let keys: ContainerKeys
        /// The session of a session-only file; `nil` for an ordinary file.
        let session: VolatileFileSession?
    }

    /// Removes a complete or unfinished container. Overwrites its wrapped keys first, because freed blocks
    /// keep their content.
    static func removeContainer(
        _ name: FilePath, in directory: borrowing Descriptor
    ) throws(CofferError) {
        guard try directory.status(of: name) != nil else { return }
        let file = try directory.openContainer(name, .readWrite)
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

extension Descriptor {
    /// Returns whether this directory has a regular file with the name of a container.
    func hasContainer(_ name: FilePath) throws(CofferError) -> Bool {
        try status(of: name)?.kind == .regular
    }

    /// Opens a container in this directory. Throws `corrupt` for a link, pipe, socket, device or directory in
    /// its place, and opens none of these, because opening a device may do something.
    func openContainer(_ name: FilePath, _ mode: Mode) throws(CofferError) -> Descriptor {
        let found = try status(of: name)
        guard found == nil || found?.kind == .regular else { throw notContainer(name) }
        let file = try open(name, mode)
        // Another program may have replaced the entry since.
        guard try file.status().kind == .regular else { throw notContainer(name) }
        return file
    }

    private func notContainer(_ name: FilePath) -> CofferError {
        CofferError(
            .corrupt,
            "\(path.pushing(name)) is not a regular file, so another program put it there. Inspect the "
                + "entry, then remove it.", remedy: .restoreOrRemoveFile)
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
