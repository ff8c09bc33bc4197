public import Coffer
public import CofferBase
import CofferDatabase
import CofferEngine
public import SystemPackage

extension Vault {
    /// Writes everything in the vault to one encrypted file, from which any vault can be restored.
    ///
    /// The file is an age file (version 1) with a tar archive inside, so the programs `age` and `tar` bring
    /// back what may leave this device, without Coffer. Items in ThisDeviceOnly classes are in it as the
    /// vault has them sealed: only this vault, with its device key, restores them.
    ///
    /// Other programs may go on using the vault. Tokens are all as they were at one moment. Each file and
    /// each database is whole; one that was changed after that moment can be in its later state, which the
    /// result lists. Plaintext is only in memory. Copies of databases are made in the vault's directory,
    /// encrypted under keys that exist only in memory, and need space there.
    ///
    /// The backup appears complete or not at all. Session-only items, tokens that are pending, and the
    /// library's own tokens, such as those of sessions at OAuth servers, are not in it.
    ///
    /// - Parameters:
    ///   - path: The backup's path, outside of the vault's directory.
    ///   - key: For whom the backup is encrypted. The recipients that the administrator's policy requires
    ///     are added.
    ///   - count: The number of backups to keep, 1 to 1000: an earlier backup at `path` gets the name
    ///     `NAME.1`, that one `NAME.2` and so on, and the oldest is removed, unless the new backup omits
    ///     damaged items. With `nil`, an existing file is not replaced.
    ///   - workFactor: The cost of trying one passphrase: 2^`workFactor` KiB of memory.
    /// - Returns: What the backup contains.
    /// - Throws: `locked` unless every class of a movable item is unlocked; `alreadyExists`; `refused` if the
    ///   passphrase has fewer than 12 bytes, if the path is in the vault's directory, if a file that would be
    ///   replaced or renamed is no backup, if there are more than a million entries, or if the
    ///   administrator's policy allows no export or requires recipients and `key` is a passphrase;
    ///   `invalidInput` if there is no recipient; `corrupt` if the file index is damaged; `timedOut` if the
    ///   disk or the mount for the backup does not answer a system call within 30 seconds, or a flush within
    ///   10 minutes; `policyInvalid`, `noSpace`, `readOnly`, `busy`, `cancelled`, `wiped`. After an error,
    ///   there is no new file, except that a mount that answers later may then show a complete one.
    @discardableResult
    public func createBackup(
        at path: FilePath, for key: BackupKey, keeping count: Int? = nil, workFactor: Int = 18
    ) async throws(CofferError) -> BackupContents {
        guard (1...KeptBackups.maxCount).contains(count ?? 1) else {
            throw CofferError(
                .invalidInput, "The number of backups to keep must be 1 to \(KeptBackups.maxCount).")
        }
        return try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let policy = try managedPolicy()
            try policy.require(.allowExport, toAllow: "backups")
            let key = try key.obeying(policy).archiveKey(workFactor)
            let (contents, time) = try CallWatch.run(waitingFor: "\(path)") {
                [self] (watch) throws(CofferError) in
                if let count {
                    try watch.call { () throws(CofferError) in
                        try KeptBackups.check(at: path, keeping: count)
                    }
                }
                var creation = BackupCreation(self, key: key, cancellation: cancellation, watch)
                return try create(&creation, at: path, keeping: count)
            }
            // The backup is complete even if its time cannot be noted, as on a read-only disk.
            try? noteBackup(at: time, movable: contents.counts.movable)
            return contents
        }
    }

    private func create(
        _ creation: inout BackupCreation, at path: FilePath, keeping count: Int?
    ) throws(CofferError) -> (contents: BackupContents, time: Int64) {
        while true {
            do throws(CofferError) {
                return try creation.watch.call { () throws(CofferError) in
                    var kept: KeptBackups?
                    defer { withExtendedLifetime(kept) {} }
                    return try createFile(at: path, replacing: count != nil) { (file) throws(CofferError) in
                        let written = try write(&creation, to: file)
                        if let count {
                            // A good backup does not go for one with less in it.
                            let isWhole = !written.contents.omitsDamagedItems
                            kept = try creation.watch.call { () throws(CofferError) in
                                try KeptBackups.shift(at: path, keeping: isWhole ? count : nil)
                            }
                        }
                        return written
                    }
                }
            } catch {
                // Once more without the file that turned out to be damaged.
                guard creation.takeFoundDamage() else { throw error }
            }
        }
    }

    /// Writes and flushes a backup, each of whose calls has its own deadline.
    private func write(
        _ creation: inout BackupCreation, to file: borrowing Descriptor
    ) throws(CofferError) -> (contents: BackupContents, time: Int64) {
        let watch = creation.watch
        let outer = try watch.beginPause()
        defer { watch.end(outer) }
        let written = try creation.write(to: file)
        let flush = try watch.begin(within: CallWatch.flushTime)
        defer { watch.end(flush) }
        try file.sync()
        return written
    }

    /// Restores a backup into this vault, which keeps everything that it has.
    ///
    /// The whole backup is read and checked before anything is stored. An interrupted restore can be
    /// repeated: what is there already is found equal.
    ///
    /// - Parameters:
    ///   - path: The backup.
    ///   - key: What opens the backup.
    ///   - rule: The rule for items that the vault has with other contents. A replaced file or database keeps
    ///     the class that it has in the vault. With ``ConflictRule/both``, a token's account gets the suffix
    ///     “ (restored)”, a file a new identifier, and a database's name the suffix “-restored”.
    ///     Sealed files and databases never replace what the vault has.
    ///   - isTrial: Whether to change nothing, and only to report.
    /// - Returns: What became of each item.
    /// - Throws: `corrupt` if the backup is damaged or incomplete; `wrongPasscode`, `absent` or
    ///   `notAuthentic` if `key` does not open it; `unsupportedVersion`; `locked` unless every class
    ///   concerned is unlocked, or while tokens are pending; `refused` if the administrator's policy allows
    ///   no import; `timedOut` as for `VaultBackup.contents(at:with:)`; `policyInvalid`, `noSpace`,
    ///   `readOnly`, `busy`, `cancelled`, `wiped`.
    @discardableResult
    public func restoreBackup(
        from path: FilePath, with key: BackupOpeningKey, onConflict rule: ConflictRule = .keep,
        isTrial: Bool = false
    ) async throws(CofferError) -> RestoreReport {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            try managedPolicy().require(.allowImport, toAllow: "restoring backups")
            return try CallWatch.run(waitingFor: "\(path)") { [self] (watch) throws(CofferError) in
                try restore(path, key, rule, isTrial: isTrial, cancellation, watch)
            }
        }
    }

    private func restore(
        _ path: FilePath, _ key: BackupOpeningKey, _ rule: ConflictRule, isTrial: Bool,
        _ cancellation: BlockingExecutor.Cancellation, _ watch: CallWatch
    ) throws(CofferError) -> RestoreReport {
        let file = try watch.call { () throws(CofferError) in try VaultBackup.open(path) }
        let databases = DatabaseBackups(self)
        let (contents, hashes) = try BackupContents.inspect(file, key, cancellation, watch) {
            (name) throws(CofferError) in
            switch name {
            case .fileContent(let id), .deviceFile(let id): try files.isKnown(id)
            case .databaseContent(let name): try databases.contains(name.scope, name.name)
            default: false
            }
        }
        var restoration = BackupRestoration(
            self, rule, isTrial: isTrial,
            isOwn: contents.vaultID.hasSameBytes(as: vaultID.description), hashes: hashes, cancellation)
        try restoration.run(ArchiveReader.open(file, with: key.archiveKey, watch))
        return restoration.report
    }
}
