public import CofferBase
import CofferEngine
import CofferVault
import Synchronization

extension FileStore {
    /// Rebuilds the index from the existing containers. Call this method if the index is damaged or does not
    /// list all containers. Afterwards, each of this vault's containers in the store's directory counts as a
    /// valid file, including a copy that another program put back.
    ///
    /// - Returns: The containers that cannot be read and are therefore not in the new index.
    /// - Throws: `locked` unless every class is unlocked; `unsupportedVersion` if a newer release wrote the
    ///   index, which is then kept; `wiped`, `noSpace`; `readOnly` if the vault's file system is read-only.
    public func reindex() async throws(CofferError) -> [FileID] {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try core.refreshKeys()
                try index.requireKnownVersion(in: vault)
                let record = FileKeysetRecord(device: core.device)
                let contents = try record.read(in: vault, repairing: true)
                return try makeIndex(contents, in: vault)
            }
        }
    }

    /// Writes a new index that lists all readable containers, and records that the store has an index.
    /// Returns the containers that cannot be read.
    private func makeIndex(
        _ contents: FileKeysetRecord.Contents, in vault: borrowing Descriptor
    ) throws(CofferError) -> [FileID] {
        let (files, unreadable) = try containers(contents.keys, in: vault)
        try index.replace(with: files, in: vault) { (protection) throws(CofferError) in
            try core.keys.key(protection)
        }
        if !contents.keys.hasIndex || !contents.keys.hasIndexCommits {
            var contents = contents
            contents.keys.hasIndex = true
            contents.keys.hasIndexCommits = true
            try FileKeysetRecord(device: core.device).write(contents, in: vault)
        }
        return unreadable
    }

    /// Returns the records of all containers that can be read, and the others.
    func containers(
        _ keys: FileKeyset, in vault: borrowing Descriptor
    ) throws(CofferError) -> (
        files: [(record: FileIndexRecord, protection: ProtectionClass)], unreadable: [FileID]
    ) {
        let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
        var files: [(record: FileIndexRecord, protection: ProtectionClass)] = []
        var unreadable: [FileID] = []
        for id in try ids().sorted() {
            do throws(CofferError) {
                let file = try directory.openContainer(id.fileName, .read)
                let (header, protection) = try ContainerReader.header(
                    of: file, id: id, device: core.device, keys: keys)
                files.append((FileIndexRecord(header), protection))
            } catch {
                switch error.code {
                case .corrupt, .foreign, .unsupportedVersion: unreadable.append(id)
                default: throw error
                }
            }
        }
        return (files, unreadable)
    }

    /// Adds a file to the index before its container appears. If the store has no index, creates one first;
    /// if that is impossible because a class is locked, adds nothing.
    func insert(
        _ header: InnerHeader, _ protection: ProtectionClass, in vault: borrowing Descriptor
    ) throws(CofferError) {
        try core.refreshKeys()
        let contents = try FileKeysetRecord(device: core.device).read(in: vault, repairing: true)
        if !contents.keys.hasIndex {
            do throws(CofferError) {
                _ = try makeIndex(contents, in: vault)
            } catch {
                guard error.code == .locked else { throw error }
                return
            }
        }
        try index.add(FileIndexRecord(header), protection, in: vault) { (protection) throws(CofferError) in
            try core.keys.key(protection)
        }
    }

    /// Throws unless the container with this header is the one that the index lists for the file.
    func checkEntry(of header: InnerHeader, _ protection: ProtectionClass) throws(CofferError) {
        let vault = try core.home.openVault()
        let contents = try index.salvage(in: vault)
        guard let entry = contents.entries[header.id] else {
            _ = try openContainer(header.id, .read)
            guard !contents.isDamaged else { throw FileIndex.corruptError }
            guard !contents.removed.contains(header.id) else {
                throw CofferError(
                    .corrupt,
                    "File \(header.id) was removed, but another program restored the file's container.",
                    remedy: .removeOrReindexFile)
            }
            throw CofferError(
                .corrupt,
                "The container of file \(header.id) is not in the file index. The index is damaged or "
                    + "outdated, or another program put the container there.", remedy: .verifyAndReindexFiles)
        }
        guard entry.commitment == header.commitment, entry.generation == header.contentGeneration,
            entry.protection == FileIndexFrame.field(protection, isVolatile: header.keeper != nil)
        else {
            guard !contents.isDamaged else { throw FileIndex.corruptError }
            throw CofferError(
                .corrupt,
                "The container of file \(header.id) does not match the file index because another program "
                    + "replaced the container.",
                remedy: .restoreOrReindexFile)
        }
    }

    /// Removes ended session-only files, and calls ``cleanUp(_:in:)`` at most once a minute, because listing
    /// the directory takes time proportional to the number of files.
    func cleanUpIfDue(
        _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) {
        removeEndedFiles(directory, in: vault)
        let now = Clock.sinceBoot
        if let last = cleanedUp.withLock({ $0 }), now - last < .seconds(60) { return }
        try cleanUp(directory, in: vault)
        cleanedUp.withLock { $0 = now }
    }

    /// Completes or undoes work that a crash interrupted, as ``recoverInterrupted(_:_:in:)`` does, for every
    /// unfinished file. Call this method while holding the vault directory's lock.
    func cleanUp(
        _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) {
        // The temporary files include an index that was being rewritten.
        try vault.removeTemporaries()
        // Skip entries that are not regular files of this user: another program put them there, and they must
        // not stop the cleanup.
        for name in try Self.unfinished(in: directory) {
            let file = try directory.openForOverwriting(name)
            guard try FileLock.tryAcquire(file) != nil else { continue }
            if let id = FileID(temporaryName: name) {
                try recoverInterrupted(id, directory, in: vault)
            } else {
                try Self.removeContainer(name, in: directory)
            }
        }
        removeEndedFiles(directory, in: vault)
    }

    /// Cleans up after adding a file or replacing its content failed. If the cleanup fails too, the
    /// unfinished file remains, and a later cleanup completes the work.
    func rollBack(_ id: FileID, _ directory: borrowing Descriptor) {
        do throws(CofferError) {
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try recoverInterrupted(id, directory, in: vault)
            }
        } catch {
            // A vault that was wiped meanwhile has no index, but the unfinished file may still exist.
            guard error.code == .wiped else { return }
            _ = try? Self.removeContainer(id.temporaryName, in: directory)
        }
    }
}
