import Coffer
import CofferBase
import CofferEngine
import FoundationEssentials

extension BackupContents {
    init(_ manifest: Manifest, _ counts: BackupCounts, _ omitted: [OmittedItem]) {
        self.init(vaultID: manifest.vaultID, created: .ofItem(manifest.time))
        self.counts = counts
        self.omitted = omitted
        reserved = manifest.reserved
    }

    /// Reads a whole backup. Returns what it contains, and the hashes of the entries that `isWanted` names.
    ///
    /// - Throws: `corrupt` if the backup is damaged or incomplete; the errors of opening it.
    static func inspect(
        _ file: borrowing Descriptor, _ key: BackupOpeningKey,
        _ cancellation: BlockingExecutor.Cancellation, _ watch: CallWatch? = nil,
        hashing isWanted: (EntryName) throws(CofferError) -> Bool = { _ in false }
    ) throws(CofferError) -> (contents: BackupContents, hashes: [EntryName: [UInt8]]) {
        let reader = try ArchiveReader.open(file, with: key.archiveKey, watch)
        guard let first = try reader.next(), first.name == .manifest else { throw TarHeader.damaged }
        let manifest = try Manifest(reader.document())
        var contents = BackupContents(manifest, BackupCounts(), [])
        contents.entries.append(BackupEntry(path: first.name.path, size: first.size))
        var hashes: [EntryName: [UInt8]] = [:]
        while let entry = try reader.next() {
            guard !cancellation.isCancelled else {
                throw CofferError(.cancelled, "The operation was cancelled before completion.")
            }
            contents.entries.append(BackupEntry(path: entry.name.path, size: entry.size))
            entry.name.count(in: &contents.counts)
            if entry.name == .omitted {
                contents.omitted = try OmittedDocument.decode(reader.document())
            }
            if try isWanted(entry.name) { hashes[entry.name] = try reader.finishedDigest() }
        }
        return (contents, hashes)
    }
}

extension EntryName {
    /// Counts the item that this entry is; does nothing for an entry that is not an item of its own.
    func count(in counts: inout BackupCounts) {
        switch self {
        case .token: counts.tokens += 1
        case .fileContent: counts.files += 1
        case .databaseContent: counts.databases += 1
        case .deviceToken: counts.deviceTokens += 1
        case .deviceFile: counts.deviceFiles += 1
        case .deviceDatabase: counts.deviceDatabases += 1
        case .manifest, .fileDescription, .databaseDescription, .deviceDatabaseKey, .omitted, .complete: break
        }
    }
}
