import CofferBase
import CofferCrypto
import CofferEngine
import FoundationEssentials
import SystemPackage

extension FileStore {
    /// Opens a container by id.
    func open(_ id: FileID, context: [UInt8] = []) throws(CofferError) -> ContainerReader {
        do throws(CofferError) {
            return try openWithoutRetry(id, context: context)
        } catch {
            guard error.code == .foreign || error.code == .corrupt else { throw error }
            // Keys may be being replaced: once more, while nobody changes anything.
            let reader: ContainerReader?
            do throws(CofferError) {
                reader = try core.home.withExclusiveVault { (vault) throws(CofferError) in
                    // Somebody may have crashed while he replaced the content.
                    try? cleanUp(openDirectory(), in: vault)
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

    private func openWithoutRetry(_ id: FileID, context: [UInt8]) throws(CofferError) -> ContainerReader {
        let keys = try fileKeys()
        let file = try openContainer(id, .read)
        let reader = try ContainerReader.open(
            file, id: id, device: core.device, keys: keys, context: context
        ) { (protection) throws(CofferError) in
            try core.keys.key(protection)
        }
        if keys.hasIndex { try checkEntry(of: reader.header, reader.protection) }
        return reader
    }

    /// The keys of files as recorded now.
    func fileKeys() throws(CofferError) -> FileKeyset {
        let vault = try core.home.openVault()
        return try core.home.mappingMissingFiles { () throws(CofferError) in
            try FileKeysetRecord(device: core.device).read(in: vault).keys
        }
    }

    /// The container's file.
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
                    .refused, "\(directory.path) is not a directory that only this user can write: refused.")
            }
            return directory
        }
    }

    /// The ids of the containers, in no order.
    func ids() throws(CofferError) -> [FileID] { try look().ids }

    /// The same, and whether there are files that are being added or removed, or were.
    func look() throws(CofferError) -> (ids: [FileID], hasUnfinished: Bool) {
        let names = try openDirectory().names()
        let ids = names.compactMap { FileID(fileName: $0) }
        let hasUnfinished =
            ids.count < names.count && names.contains { FileID(temporaryName: $0) != nil }
        return (ids, hasUnfinished)
    }

    /// Creates a container under a temporary name, lets `fill` write it, flushes it and gives it its name.
    func addContainer(
        _ id: FileID, _ protection: ProtectionClass, _ classKey: ClassKey,
        _ check: () throws(CofferError) -> Void,
        _ fill: (borrowing Descriptor, _ outer: FileKEK, _ inner: FileKEK) throws(CofferError) -> InnerHeader
    ) throws(CofferError) {
        let directory = try openDirectory()
        let temporary = id.temporaryName
        // The lock on the unfinished file tells others that its owner is alive: that what is in it does not
        // go, and neither do the keys it is wrapped under. It goes with the descriptor.
        let begun: PendingContainer = try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try beginWrite(id, protection, classKey, directory, in: vault)
        }
        let file = begun.file
        do throws(CofferError) {
            let header = try fill(file, begun.outer, begun.inner)
            try file.sync()
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try check()
                // While a long file was sealed, the passcode may have gone and its class with it.
                if protection.requiresPasscode { _ = try core.keyForStoring(protection) }
                try insert(header, protection, in: vault)
                try directory.renameWithoutReplacing(temporary, to: id.fileName)
                try directory.sync()
            }
        } catch {
            rollBack(id, directory)
            guard error.code == .absent else { throw error }
            return try core.home.mappingMissingFiles { () throws(CofferError) in throw error }
        }
    }

    /// Makes the file, empty and locked, under its temporary name, and tells the keys.
    func beginWrite(
        _ id: FileID, _ protection: ProtectionClass, _ classKey: ClassKey,
        _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) -> PendingContainer {
        try cleanUpIfDue(directory, in: vault)
        let (outer, inner) = try FileKeysetRecord(device: core.device).current(
            protection, classKey: classKey, in: vault)
        // Of a file that is being replaced there may be one of somebody who crashed.
        if try directory.status(of: id.temporaryName) != nil { try cleanUp(directory, in: vault) }
        do throws(CofferError) {
            let file = try directory.open(id.temporaryName, [.readWrite, .exclusive])
            try file.lock()
            return PendingContainer(file: file, outer: outer, inner: inner)
        } catch {
            guard error.code == .alreadyExists else { throw error }
            throw CofferError(.busy, "Somebody else is replacing the content of \(id).")
        }
    }

    /// A container that is being written, and the keys it will be wrapped under.
    struct PendingContainer: ~Copyable {
        let file: Descriptor
        let outer: FileKEK
        let inner: FileKEK
    }

    /// Removes a container, whole or unfinished. What wraps its keys is overwritten first: a freed block
    /// keeps what it holds.
    static func removeContainer(
        _ name: FilePath, in directory: borrowing Descriptor
    ) throws(CofferError) {
        guard try directory.status(of: name) != nil else { return }
        let file = try directory.open(name, .readWrite)
        do throws(CofferError) {
            try destroyHeader(of: file)
        } catch {
            guard error.code == .noSpace else { throw error }
            // On a full copy-on-write file system, overwriting takes room: that of the content. Where that is
            // not enough, only removing makes any.
            try? file.truncate(to: ContainerLayout.headerSize)
            try? destroyHeader(of: file)
        }
        try directory.remove(name)
    }

    /// Destroys both wrapped keys in place, so that the container opens with nothing that is left.
    static func destroyHeader(of file: borrowing Descriptor) throws(CofferError) {
        var header = [UInt8](repeating: 0, count: Int(ContainerLayout.headerSize))
        var span = header.mutableSpan
        // The header is written last: most unfinished containers have none.
        guard try file.read(at: 0, into: &span) > 0, header.contains(where: { $0 != 0 }) else { return }
        let random = try SecureRandom.bytes(header.count)
        try file.write(random.span, at: 0)
        try file.syncData()
    }

    /// Long work stops when its task is cancelled or the key of a class goes that it used. Ask before taking
    /// a key, so that a lock in between is seen.
    ///
    /// - Parameters:
    ///   - cancellation: The task's.
    ///   - mark: Where it began; `nil`: now.
    ///   - protection: The only class that it uses; `nil`: every one that is used from its beginning on.
    /// - Returns: What throws once it must stop.
    /// - Throws: Nothing by itself: `cancelled`, `locked` and `wiped` come from what it returns.
    func cancellationCheck(
        _ cancellation: BlockingExecutor.Cancellation, since mark: KeyMark? = nil,
        only protection: ProtectionClass? = nil
    ) throws(CofferError) -> @Sendable () throws(CofferError) -> Void {
        let keys = core.keys
        let mark = mark ?? keys.mark
        return { () throws(CofferError) in
            try cancellation.check()
            guard !keys.hasLost(since: mark, only: protection) else {
                throw keys.isWiped ? CofferError.wiped : CofferError.locked
            }
        }
    }

    static func clamp(_ range: Range<Int64>?, to length: Int64) throws(CofferError) -> Range<Int64> {
        guard let range else { return 0..<length }
        guard range.lowerBound >= 0 else { throw CofferError(.invalidInput, "A range begins at 0 or later.") }
        return range.clamped(to: 0..<length)
    }
}

extension ContainerReader {
    var info: FileInfo {
        get throws(CofferError) {
            guard let name = FilePath.Component(bytes: header.name) else {
                throw CofferError(
                    .corrupt,
                    "The container holds a name that is no file name: put back a copy of it, or remove it.")
            }
            return FileInfo(
                id: header.id, name: name, length: layout.length,
                modified: Date(nanosecondsSince1970: header.modified), protection: protection,
                state: .stored)
        }
    }
}

extension FilePath.Component {
    /// The name's bytes as they are on the disk.
    var bytes: [UInt8] { FileNameBytes.of(self) }

    /// The name of these bytes; `nil` for what no directory entry can be.
    init?(bytes: [UInt8]) {
        guard let component = FileNameBytes.component(bytes), component.kind == .regular else { return nil }
        self = component
    }
}
