public import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials
import Synchronization
public import SystemPackage

/// The files in one vault, each of which is encrypted twice, in a separate container. <doc:FileFormat>
/// describes the containers' format.
///
/// Sealing, verifying and exporting a file use a bounded amount of memory, regardless of the file's size, and
/// up to eight threads. If the task is cancelled, the work stops after the chunks in progress and leaves
/// nothing behind.
public final class FileStore: Sendable {
    let core: VaultCore
    let index: FileIndex
    /// The view copies that are removed when the vault locks.
    let activeViews: ActiveViewCopies
    /// The keys of session-only files.
    let volatileKeys: VolatileFileKeys
    /// The time since boot at which this store last removed the unfinished files that a crash left behind.
    let cleanedUp = Mutex<Duration?>(nil)

    static let maxContextLength = 1024

    init(core: VaultCore) {
        self.core = core
        index = FileIndex(device: core.device)
        activeViews = ActiveViewCopies(core.events)
        volatileKeys = VolatileFileKeys(core)
    }

    /// Seals a copy of the file at `path`. The original remains unless `removingOriginal` is `true`.
    ///
    /// - Parameters:
    ///   - path: The path of a regular file. The file's name and date are sealed with its content.
    ///   - name: The name to store; `nil` for the path's last component.
    ///   - protection: The protection class, which determines when the file can be read; `nil` for the
    ///     vault's default, ``VaultSettings/newItemsAreMovable``.
    ///   - outerCipher: The cipher for the outer layer.
    ///   - context: Up to 1024 bytes to bind to the file's inner layer, such as a tenant's name or the
    ///     identifier of the record that the file belongs to. The bytes are not stored, and reading the file
    ///     requires the same bytes.
    ///   - isVolatile: Whether the file is session-only: its key is kept only in memory, and with the next
    ///     lock the file becomes unreadable and is removed.
    ///   - removingOriginal: Whether to remove the file at `path` once the sealed copy is safely on disk. The
    ///     file is kept if it has changed since it was sealed or is open for writing. A file in the vault's
    ///     own directory is refused. The removed file's blocks may remain readable on the medium.
    ///   - allowingExternalMedia: Whether to accept a vault that is now on a removable medium or a network
    ///     file system but was not created for such a location.
    ///   - progress: A closure that is called from time to time, on worker threads, with the current
    ///     progress.
    /// - Returns: The stored file's identifier.
    /// - Throws: `locked`, `wiped`, `noSpace`; `readOnly` if the vault's file system is read-only;
    ///   `cancelled` if the task was cancelled; `invalidInput` if `path` does not refer to a file, if the
    ///   name or the context is too long, or if the original of a session-only file is to be removed;
    ///   `refused` if `path` refers to anything other than a regular file, if the original is to be removed
    ///   but is a link or is in the vault's own directory, if the vault is on an external medium that is not
    ///   allowed, or if ``VaultSettings/requiresDiskEncryption`` is on and the vault's disk is not known to
    ///   be encrypted; `conflict` if the file changes while it is being read, or if the original was to be
    ///   removed but has changed since it was sealed or is open for writing. If only the removal failed, the
    ///   original is kept, and the error message contains the sealed copy's identifier.
    public func add(
        contentsOf path: FilePath, name: FilePath.Component? = nil,
        class protection: ProtectionClass? = nil,
        outerCipher: ContainerCipherSuite = .chaCha20Poly1305, context: [UInt8] = [],
        isVolatile: Bool = false, removingOriginal: Bool = false, allowingExternalMedia: Bool = false,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) -> FileID {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            guard let name = name ?? path.lastComponent else {
                throw CofferError(.invalidInput, "The path \(path) does not end with a file name.")
            }
            let nameBytes = try Self.checked(name, context)
            guard !isVolatile || !removingOriginal else {
                throw CofferError(
                    .invalidInput,
                    "The original of a session-only file is not removed: nothing would be left.")
            }
            let check = try cancellationCheck(cancellation)
            try core.checkMedium(allowingExternalMedia: allowingExternalMedia)
            let protection = try core.classOrDefault(protection)
            _ = try core.keyForStoring(protection)
            let source = try Descriptor.open(path, [.read, .nonBlocking])
            guard try source.status().kind == .regular else {
                throw CofferError(.refused, "\(path) cannot be stored because it is not a regular file.")
            }
            if removingOriginal { try OriginalRule.check(path, source, outside: core.home) }
            let original = removingOriginal ? try SourceFile(path, source) : nil
            let id = try FileID.random()
            try addContainer(id, protection, context, isVolatile: isVolatile, check) {
                (target, keys) throws(CofferError) in
                let writer = ContainerWriter(
                    id: id, device: core.device, classKey: keys.classKey, protection: protection,
                    suite: outerCipher, context: context, outerKEK: keys.outer, innerKEK: keys.inner)
                return try writer.seal(
                    source, name: nameBytes, into: target, check: check, progress: progress)
            }
            do throws(CofferError) {
                try original?.remove(source)
            } catch {
                throw CofferError(
                    error.code, "\(error.message) The id of the sealed copy is \(id).", remedy: error.remedy,
                    systemError: error.systemError)
            }
            return id
        }
    }

    /// Returns the descriptions of all files, sorted by the bytes of their names. The descriptions come from
    /// the index, so no container is opened unless the store has no index yet. If another program deleted a
    /// file's container, the file's state is ``FileState/missing``.
    ///
    /// - Throws: `locked` if a description belongs to a locked class; `wiped`; `corrupt` if the index is
    ///   damaged or does not list all containers. In that case, ``listing()`` returns the files that the
    ///   index lists, and ``reindex()`` repairs the index.
    public func list() async throws(CofferError) -> [FileInfo] {
        let listing = try await listing()
        guard !listing.isIndexDamaged else { throw FileIndex.corruptError }
        guard !listing.isIndexBehind else { throw FileIndex.behind(listing.unlisted) }
        return listing.files
    }

    /// Returns the files that the index lists, with information about whether the index is intact and lists
    /// every container. Unlike ``list()``, this method does not throw an error if part of the index is
    /// damaged or if containers are unlisted.
    ///
    /// - Throws: `locked` if a description belongs to a locked class; `wiped`, `corrupt`.
    public func listing() async throws(CofferError) -> FileListing {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            guard try fileKeys().hasIndex else {
                return FileListing(files: try listContainers(cancellation))
            }
            // List the containers first, so that files added or removed in the meantime are not in the
            // listing.
            let (ids, hasUnfinished) = try inspectDirectory()
            let hasVolatile = try hasVolatileFiles()
            if hasUnfinished || hasVolatile { removeRemains() }
            let present = Set(ids)
            let contents = try index.salvage(in: core.home.openVault())
            var found = try records(of: present, contents)
            var different = FileDifferences()
            if found.count != present.count || found.count != contents.entries.count {
                different = try differences(present, contents)
                if !different.missing.isEmpty {
                    found = try records(of: present.union(different.missing), contents)
                }
            }
            let missing = Set(different.missing)
            // Sort indices, because a record is large to move.
            let order = found.indices.sorted {
                let (one, other) = (found[$0].record, found[$1].record)
                return one.name == other.name
                    ? one.id.uuid.bytes.lexicographicallyPrecedes(other.id.uuid.bytes)
                    : one.name.lexicographicallyPrecedes(other.name)
            }
            var listing = FileListing()
            listing.files.reserveCapacity(order.count)
            for place in order {
                let (record, protection) = found[place]
                listing.files.append(
                    try record.info(protection, missing.contains(record.id) ? .missing : .stored))
            }
            listing.isIndexDamaged = contents.isDamaged
            listing.isIndexBehind = !different.unlisted.isEmpty
            listing.unlisted =
                contents.isDamaged
                ? present.subtracting(found.map(\.record.id)).sorted() : different.unlisted
            return listing
        }
    }

    private func records(
        of ids: Set<FileID>, _ contents: FileIndexContents
    ) throws(CofferError) -> [(record: FileIndexRecord, protection: ProtectionClass)] {
        try index.records(of: ids, in: contents) { (protection) throws(CofferError) in
            try core.keys.key(protection)
        }
    }

    /// Returns the descriptions of all files in a store that has no index yet.
    private func listContainers(
        _ cancellation: BlockingExecutor.Cancellation
    ) throws(CofferError) -> [FileInfo] {
        var infos: [FileInfo] = []
        for id in try ids() {
            try cancellation.check()
            infos.append(try info(of: open(id)))
        }
        return infos.sorted { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) }
    }

    /// Returns the description of one file.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - context: The context that was bound to the file when it was added.
    /// - Returns: The file's description.
    /// - Throws: `absent` if there is no such file; `missing` if another program deleted the file's
    ///   container; `locked`, `wiped`, `corrupt`.
    public func info(for id: FileID, context: [UInt8] = []) async throws(CofferError) -> FileInfo {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try info(of: open(id, context: context))
        }
    }

    /// Returns whether the underlying disk is encrypted by dm-crypt, fscrypt or an encrypting file system;
    /// returns `nil` if the encryption status is unknown.
    ///
    /// - Throws: `wiped`.
    public func isDiskEncrypted() async throws(CofferError) -> Bool? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try StorageMedium.of(core.home.openVault()).isEncrypted
        }
    }

    /// Checks that the underlying disk is encrypted, as ``isDiskEncrypted()`` determines. Call this method
    /// before you add files that must not be stored otherwise. To require encryption for all files of a
    /// vault, use ``VaultSettings/requiresDiskEncryption``.
    ///
    /// ```swift
    /// try await vault.files.checkDiskEncryption()
    /// let id = try await vault.files.add(contentsOf: path)
    /// ```
    ///
    /// - Throws: `refused` if the disk is not encrypted, if its encryption is unknown, or if the vault is in
    ///   memory, whose content may be written to swap; `wiped`.
    public func checkDiskEncryption() async throws(CofferError) {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try MediaPolicy.checkEncryption(of: core.home.openVault())
        }
    }

    /// Returns the number of files. You can call this method while the vault is locked.
    ///
    /// - Throws: `wiped`.
    public func count() async throws(CofferError) -> Int {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in try ids().count }
    }

    /// Returns whether there is a container with the given identifier, even if the index does not list it.
    /// You can call this method while the vault is locked.
    package func hasContainer(_ id: FileID) async throws(CofferError) -> Bool {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try openDirectory().hasContainer(id.fileName)
        }
    }

    /// Removes a file. The file's key is destroyed with it, so data that remains on the medium cannot be
    /// decrypted as long as the vault's keys stay secret. If the file's container is missing, this method
    /// removes the index entry.
    ///
    /// - Parameter id: The file's identifier.
    /// - Returns: Whether the file existed.
    /// - Throws: `wiped`; `busy` if another process holds the vault directory's lock for too long; `readOnly`
    ///   if the vault's file system is read-only; `corrupt` if the container is missing and the index is
    ///   damaged.
    @discardableResult
    public func remove(_ id: FileID) async throws(CofferError) -> Bool {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
                try cleanUpIfDue(directory, in: vault)
                guard try directory.hasContainer(id.fileName) else {
                    return try clear(id, in: vault)
                }
                try Self.destroy(id, of: core.device, index, directory, in: vault)
                volatileKeys.release(id)
                return true
            }
        }
    }

    /// Removes the index entry of a file whose container is missing; returns whether the index listed the
    /// file.
    private func clear(_ id: FileID, in vault: borrowing Descriptor) throws(CofferError) -> Bool {
        guard try FileKeysetRecord(device: core.device).read(in: vault).keys.hasIndex else { return false }
        let contents = try index.salvage(in: vault)
        guard contents.entries[id] != nil else { return false }
        guard !contents.isDamaged else { throw FileIndex.corruptError }
        try index.remove(id, in: vault)
        return true
    }

    /// Removes a container and its index entry. Call this method while holding the vault directory's lock.
    static func destroy(
        _ id: FileID, of device: DeviceKey, _ index: FileIndex, _ directory: borrowing Descriptor,
        in vault: borrowing Descriptor
    ) throws(CofferError) {
        // Hide the container by one rename first, so that a crash leaves the file either intact or removed;
        // then destroy it.
        let temporary = id.temporaryName
        try directory.rename(id.fileName, to: temporary)
        try directory.sync()
        try destroyHeader(of: directory.open(temporary, .readWrite))
        if try FileKeysetRecord(device: device).read(in: vault).keys.hasIndex {
            try index.remove(id, in: vault)
        }
        try directory.remove(temporary)
        try directory.sync()
    }
}
