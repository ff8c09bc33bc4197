public import CofferBase
import CofferCrypto
import CofferEngine
import FoundationEssentials
import Synchronization
public import SystemPackage

/// The files of one vault, each doubly encrypted in a container of its own: see <doc:FileFormat>.
///
/// Works in bounded memory whatever the size, on every processor. Cancelling the task stops at the next chunk
/// and leaves nothing behind.
public final class FileStore: Sendable {
    let core: VaultCore
    let index: FileIndex
    /// What a lock takes back.
    let openViews: ActiveViewCopies
    /// When this session last removed what crashes left of files.
    let cleanedUp = Mutex<Duration?>(nil)

    private static let maxContextLength = 1024

    init(core: VaultCore) {
        self.core = core
        index = FileIndex(device: core.device)
        openViews = ActiveViewCopies(core.hub)
    }

    /// Seals a copy of the file at `path`. The original stays unless you ask otherwise.
    ///
    /// - Parameters:
    ///   - path: A regular file; its name and date are kept, sealed.
    ///   - protection: When it can be read.
    ///   - outerCipher: The cipher of the outer layer.
    ///   - context: Bytes that are bound into the inner layer, at most 1024: the id of the record that the
    ///     file belongs to, a tenant. Nobody reads the file without giving the same. They are not kept.
    ///   - removingOriginal: Remove the file at `path` once the sealed copy is safe on the disk, unless it
    ///     was changed since or somebody has it open for writing. A file of the vault's own home is refused.
    ///     Its blocks may stay readable on the medium: nothing here can promise otherwise.
    ///   - allowingExternalMedia: Whether the vault may be on a removable medium or a network file system by
    ///     now, although it was not made for that.
    ///   - progress: Called now and then from working threads.
    /// - Returns: What the file is found by from now on.
    /// - Throws: `locked`, `wiped`; `refused` for what is not a regular file, and for a vault on an external
    ///   medium; `conflict` when the file changes while it is read, and when the original is to go and was
    ///   changed since or is open for writing: it stays then, beside its sealed copy, whose id the message
    ///   has; `noSpace`, `readOnly`, `cancelled`.
    public func add(
        contentsOf path: FilePath, class protection: ProtectionClass = .whenUnlockedThisDeviceOnly,
        outerCipher: ContainerCipherSuite = .chaCha20Poly1305, context: [UInt8] = [],
        removingOriginal: Bool = false,
        allowingExternalMedia: Bool = false,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) -> FileID {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            guard let name = path.lastComponent else {
                throw CofferError(.refused, "\(path) names no file.")
            }
            guard context.count <= Self.maxContextLength else {
                throw CofferError(.invalidInput, "A context has at most \(Self.maxContextLength) bytes.")
            }
            let check = try cancellationCheck(cancellation)
            if !allowingExternalMedia { try MediaPolicy.checkVault(core.home.openVault()) }
            let classKey = try core.keyForStoring(protection)
            let source = try Descriptor.open(path, [.read, .nonBlocking])
            guard try source.status().kind == .regular else {
                throw CofferError(.refused, "\(path) is not a regular file.")
            }
            if removingOriginal { try OriginalRule.check(path, source, outside: core.home) }
            let original = removingOriginal ? try SourceFile(path, source) : nil
            let id = try FileID.random()
            try addContainer(id, protection, classKey, check) { (target, outer, inner) throws(CofferError) in
                let writer = ContainerWriter(
                    id: id, device: core.device, classKey: classKey, protection: protection,
                    suite: outerCipher, context: context, outerKEK: outer, innerKEK: inner)
                return try writer.seal(
                    source, name: name.bytes, into: target, check: check, progress: progress)
            }
            do throws(CofferError) {
                try original?.remove(source)
            } catch {
                throw CofferError(
                    error.code, "\(error.message) The sealed copy is \(id).", systemError: error.systemError)
            }
            return id
        }
    }

    /// What is known of every file, ordered by the bytes of the names. Comes from the index: no container is
    /// opened. A file whose container somebody else deleted is there as ``FileState/missing``.
    ///
    /// - Throws: `locked` when any of them cannot be read now; `wiped`; `corrupt` when the index is damaged
    ///   or does not know all containers: ``listing()`` has what it knows, and ``reindex()`` repairs it.
    public func list() async throws(CofferError) -> [FileInfo] {
        let listing = try await listing()
        guard !listing.isIndexDamaged else { throw FileIndex.corruptError }
        guard !listing.isIndexBehind else { throw FileIndex.behind(listing.unlisted) }
        return listing.files
    }

    /// The same as far as the index goes, and whether it is whole and knows every container.
    ///
    /// - Throws: `locked` when any of them cannot be read now; `wiped`, `corrupt`.
    public func listing() async throws(CofferError) -> FileListing {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            guard try fileKeys().hasIndex else {
                return FileListing(files: try listContainers(cancellation))
            }
            // The containers first: what is entered in the meantime is not listed, what is struck out
            // neither.
            let (ids, hasUnfinished) = try look()
            if hasUnfinished { removeRemains() }
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
            // Their places are sorted: a record is much to move.
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

    /// The same of a store that has no index yet.
    private func listContainers(
        _ cancellation: BlockingExecutor.Cancellation
    ) throws(CofferError) -> [FileInfo] {
        var infos: [FileInfo] = []
        for id in try ids() {
            try cancellation.check()
            infos.append(try open(id).info)
        }
        return infos.sorted { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) }
    }

    /// What is known of one file.
    ///
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`.
    public func info(for id: FileID, context: [UInt8] = []) async throws(CofferError) -> FileInfo {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in try open(id, context: context).info }
    }

    /// Whether the disk below encrypts what is on it (dm-crypt, fscrypt, or a file system that does); `nil`
    /// when that is not known.
    ///
    /// - Throws: `wiped`.
    public func isDiskEncrypted() async throws(CofferError) -> Bool? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try StorageMedium.of(core.home.openVault()).isEncrypted
        }
    }

    /// How many files there are; known also while locked.
    ///
    /// - Throws: `wiped`.
    public func count() async throws(CofferError) -> Int {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in try ids().count }
    }

    /// Removes a file; tells whether there was one. Its key goes with it: what stays on the medium opens with
    /// nothing as long as the vault's keys stay secret. Of a file whose container is missing it clears the
    /// entry.
    ///
    /// - Throws: `wiped`, `busy`, `readOnly`; `corrupt` when the container is missing and the index is
    ///   damaged.
    @discardableResult
    public func remove(_ id: FileID) async throws(CofferError) -> Bool {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
                try cleanUpIfDue(directory, in: vault)
                guard try directory.status(of: id.fileName) != nil else {
                    return try clear(id, in: vault)
                }
                try Self.destroy(id, of: core.device, index, directory, in: vault)
                return true
            }
        }
    }

    /// Strikes out a file whose container is missing; tells whether it was entered.
    private func clear(_ id: FileID, in vault: borrowing Descriptor) throws(CofferError) -> Bool {
        guard try FileKeysetRecord(device: core.device).read(in: vault).keys.hasIndex else { return false }
        let contents = try index.salvage(in: vault)
        guard contents.entries[id] != nil else { return false }
        guard !contents.isDamaged else { throw FileIndex.corruptError }
        try index.remove(id, in: vault)
        return true
    }

    /// Removes a container and strikes it out of the index, under the home's lock.
    static func destroy(
        _ id: FileID, of device: DeviceKey, _ index: FileIndex, _ directory: borrowing Descriptor,
        in vault: borrowing Descriptor
    ) throws(CofferError) {
        // Out of sight by one rename, so that a crash leaves the file whole or gone; then destroyed.
        let doomed = id.temporaryName
        try directory.rename(id.fileName, to: doomed)
        try directory.sync()
        try destroyHeader(of: directory.open(doomed, .readWrite))
        if try FileKeysetRecord(device: device).read(in: vault).keys.hasIndex {
            try index.remove(id, in: vault)
        }
        try directory.remove(doomed)
        try directory.sync()
    }
}
