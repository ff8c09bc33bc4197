import CofferBase
import CofferEngine
import CofferVault

/// The part of an upgrade that concerns files. Every method requires the vault directory's lock.
extension FileStore {
    /// Returns a new index, and a record of file keys that says that there is one. The containers stay as
    /// they are.
    ///
    /// - Throws: `corrupt` if the present index is damaged or, without one, if a container cannot be read:
    ///   the new index would not list it.
    func upgradedIndex(
        under keys: [ProtectionClass: ClassKey], in vault: borrowing Descriptor
    ) throws(CofferError) -> [VaultDirectory.NextFile] {
        func classKey(_ protection: ProtectionClass) throws(CofferError) -> ClassKey {
            guard let key = keys[protection] else { throw CofferError.locked }
            return key
        }
        let record = FileKeysetRecord(device: core.device)
        var contents = try record.read(in: vault, repairing: true)
        let listed: [(record: FileIndexRecord, protection: ProtectionClass)]
        if contents.keys.hasIndex {
            let present = try index.snapshot(in: vault)
            listed = try index.records(of: Set(present.entries.keys), in: present, classKey: classKey)
        } else {
            let (found, unreadable) = try containers(contents.keys, in: vault)
            guard unreadable.isEmpty else {
                throw CofferError(
                    .corrupt, "Some files cannot be read, so the index would not list them.",
                    remedy: .restoreOrRemoveFile, entries: unreadable.map(\.description))
            }
            listed = found
        }
        contents.keys.hasIndex = true
        contents.keys.hasIndexCommits = true
        return [
            VaultDirectory.NextFile(
                FileIndex.fileName, try index.content(listing: listed, classKey: classKey)),
            VaultDirectory.NextFile(FileKeyset.record.name, try record.newFile(contents)),
        ]
    }

    /// Throws unless the index and the record of file keys in the directory can be read.
    func checkUpgradedIndex(in directory: borrowing Descriptor) throws(CofferError) {
        _ = try FileIndex(device: core.device).snapshot(in: directory)
    }
}
