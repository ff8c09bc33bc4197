import CofferBase
public import CofferCrypto

/// A backup's passphrase, in guarded memory.
public final class BackupPassphrase: Sendable {
    /// The minimum length of a new backup's passphrase in bytes.
    public static let minimumLength = 12

    let shared: ArchiveWriter.Passphrase

    /// Creates a passphrase from its bytes, which are used unchanged.
    public init(_ secret: consuming SecretBytes) { shared = ArchiveWriter.Passphrase(secret) }

    /// The length in bytes.
    var count: Int { shared.secret.count }
}
