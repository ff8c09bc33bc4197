/// The backend in which a vault stores its device key and tokens. Creating a vault sets the backend, and only
/// ``Vault/migrateStorage(to:passcode:)`` changes it.
public enum KeyringBackend: String, Sendable, CaseIterable {
    /// In the vault directory: the device key in a file with mode 0600, the tokens in one sealed file. This
    /// backend needs no running service.
    case file
    /// In the desktop's Secret Service: the device key sealed under a key that stays in the vault directory,
    /// and the sealed tokens. Neither the service nor the vault directory alone is sufficient to open them.
    case secretService = "secret-service"
}
