/// Where a vault keeps its device key and tokens. Chosen when the vault is created; only
/// ``Vault/migrateStorage(to:passcode:)`` changes it.
public enum KeyringBackend: String, Sendable, CaseIterable {
    /// In the vault directory: the device key in a file of mode 0600, the tokens in one sealed file. Needs no
    /// running service.
    case file
    /// In the desktop's Secret Service, sealed under a key that stays in the vault directory. Neither can be
    /// opened without the other.
    case secretService = "secret-service"
}
