import CofferVault

/// The result of moving a vault to another storage backend with ``Vault/migrateStorage(to:passcode:)``.
public struct StorageMigration: Sendable, Equatable {
    /// The backend that held the device key and the tokens before the move.
    public let from: KeyringBackend
    /// The backend that holds the device key and the tokens now.
    public let to: KeyringBackend
    /// The number of tokens that were moved.
    public let tokens: Int
    /// The number of items left in the old backend because they could not be removed. A remaining device key
    /// is sealed under a key that no longer exists; remaining tokens are still sealed under their class keys.
    /// The next command that uses the vault tries again to remove these items.
    public let remaining: Int
}
