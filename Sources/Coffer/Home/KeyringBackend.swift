/// Where a vault's device key and tokens are kept. Recorded in the home when it is made; changed by
/// ``Vault/migrateStorage(to:passcode:)`` alone.
public enum KeyringBackend: String, Sendable, CaseIterable {
    /// In the home: the device key in a file of mode 0600, the tokens in one sealed file. Needs nothing
    /// running.
    case file
    /// In the desktop's Secret Service, sealed under a key that stays in the home: neither opens without
    /// the other.
    case secretService = "secret-service"
}
