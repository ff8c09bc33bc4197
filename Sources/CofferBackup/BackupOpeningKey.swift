public import CofferCrypto

/// The key that opens a backup.
public enum BackupOpeningKey: Sendable {
    /// The identities of recipients, of which one is enough.
    case identities([AgeIdentity])
    /// The passphrase.
    case passphrase(BackupPassphrase)

    var archiveKey: ArchiveReader.Key {
        switch self {
        case .identities(let identities): .identities(identities)
        case .passphrase(let passphrase): .passphrase(passphrase.shared)
        }
    }
}
