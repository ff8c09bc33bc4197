public import CofferCrypto

/// The key that a new backup is encrypted with.
public enum BackupKey: Sendable {
    /// The identity of each of these recipients opens the backup. Anyone who knows a recipient can also make
    /// a backup for it, so restore only backups whose origin you know.
    case recipients([AgeRecipient])
    /// The passphrase opens the backup. Anyone who has the backup can try passphrases without limit, so use a
    /// long, random one.
    case passphrase(BackupPassphrase)
}
