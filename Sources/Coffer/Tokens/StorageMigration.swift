import CofferVault

/// The result of ``Vault/migrateStorage(to:passcode:)``.
public struct StorageMigration: Sendable, Equatable {
    /// Where the device key and the tokens were.
    public let from: KeyringBackend
    /// Where they are now.
    public let to: KeyringBackend
    /// The number of tokens.
    public let tokens: Int
    /// The number of items left in the old place because they could not be removed. They are sealed under a
    /// key that no longer exists; the next command on the vault tries again.
    public let remaining: Int
}
