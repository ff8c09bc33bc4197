import Coffer
public import CofferBase
import CofferCrypto
import CofferEngine
public import SystemPackage

/// Backups of whole vaults, apart from any vault.
public enum VaultBackup {
    /// The first line of every age file.
    static let magic = "age-encryption.org/v1\n"

    /// Reads and checks a whole backup, without a vault and without storing anything.
    ///
    /// Uses a bounded amount of memory per entry, whatever the entries' sizes are.
    ///
    /// - Parameters:
    ///   - path: The backup.
    ///   - key: What opens the backup.
    /// - Returns: What the backup contains, if it is complete and every byte of it is authentic.
    /// - Throws: `corrupt` if the backup is damaged, incomplete or no backup of Coffer; `absent` if it is
    ///   encrypted for none of the identities, or with a passphrase instead of for identities or the other
    ///   way around; `wrongPasscode` if the passphrase is wrong; `notAuthentic` if its header was changed;
    ///   `unsupportedVersion` if a newer release wrote it; `refused` if it demands too much memory;
    ///   `invalidInput` if the path is not a regular file; `timedOut` if the disk or the mount with the
    ///   backup does not answer a system call within 30 seconds; `cancelled`.
    public static func contents(
        at path: FilePath, with key: BackupOpeningKey
    ) async throws(CofferError) -> BackupContents {
        try await BlockingExecutor.run { cancellation throws(CofferError) in
            try CallWatch.run(waitingFor: "\(path)") { (watch) throws(CofferError) in
                let file = try watch.call { () throws(CofferError) in try open(path) }
                return try BackupContents.inspect(file, key, cancellation, watch).contents
            }
        }
    }

    /// Returns whether a file is a backup that a passphrase opens, rather than an identity.
    ///
    /// - Throws: `corrupt` if the file is no age file; `invalidInput` if it is no regular file; `timedOut`.
    package static func needsPassphrase(at path: FilePath) throws(CofferError) -> Bool {
        try CallWatch.run(waitingFor: "\(path)") { (watch) throws(CofferError) in
            try watch.call { () throws(CofferError) in try hasPassphrase(path) }
        }
    }

    private static func hasPassphrase(_ path: FilePath) throws(CofferError) -> Bool {
        let file = try open(path)
        var start = [UInt8](repeating: 0, count: 64)
        var span = start.mutableSpan
        _ = try file.read(at: 0, into: &span)
        guard start.starts(with: magic.utf8) else {
            throw CofferError(
                .corrupt, "\(path) is not a backup, or its first bytes are damaged.",
                remedy: .useAnotherCopy)
        }
        return start.starts(with: (magic + "-> scrypt ").utf8)
    }

    static func open(_ path: FilePath) throws(CofferError) -> Descriptor {
        let file = try Descriptor.open(path, [.read, .nonBlocking])
        guard try file.status().kind == .regular else {
            throw CofferError(.invalidInput, "\(path) must be a regular file.")
        }
        return file
    }
}

extension BackupKey {
    /// Returns this key with the recipients that the administrator's policy requires.
    func obeying(_ policy: ManagedPolicy) throws(CofferError) -> BackupKey {
        guard let required = policy.list(.backupRecipients), !required.isEmpty else { return self }
        guard case .recipients(let given) = self else {
            throw policy.refusal(
                .backupRecipients,
                "The administrator's policy requires backups that its recipients can open, and a backup with "
                    + "a passphrase has no recipients")
        }
        let all = try required.map { (text) throws(CofferError) in try AgeRecipient(text) }
        return .recipients(given + all.filter { !given.contains($0) })
    }

    func archiveKey(_ workFactor: Int) throws(CofferError) -> ArchiveWriter.Key {
        switch self {
        case .recipients(let recipients): return .recipients(recipients)
        case .passphrase(let passphrase):
            guard passphrase.count >= BackupPassphrase.minimumLength else {
                throw CofferError(
                    .refused,
                    "A backup's passphrase must be at least \(BackupPassphrase.minimumLength) bytes long.")
            }
            return .passphrase(passphrase.shared, workFactor: workFactor)
        }
    }
}
