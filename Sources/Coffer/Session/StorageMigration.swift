/// The result of ``Vault/migrateStorage(to:passcode:)``.
public struct StorageMigration: Sendable, Equatable {
    /// Where the device key and the tokens were.
    public let from: KeyringBackend
    /// Where they are now.
    public let to: KeyringBackend
    /// How many tokens there are.
    public let tokens: Int
    /// How many items are left in the old place because it did not let go of them. They are sealed under a
    /// key that is no more; the next command on the home tries again.
    public let left: Int
}
