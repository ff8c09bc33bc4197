/// The backend in which a vault stores its device key and tokens. Creating a vault sets the backend, and only
/// ``Vault/migrateStorage(to:passcode:)`` changes it.
public enum KeyringBackend: String, Sendable, CaseIterable {
    /// The vault directory, with the device key in a file of mode 0600 and the tokens in one sealed file.
    /// This backend requires no running service.
    case file
    /// The desktop's Secret Service, with the sealed tokens and the device key, which is sealed under a key
    /// that stays in the vault directory. Neither the service nor the vault directory alone is sufficient to
    /// open the tokens.
    case secretService = "secret-service"
}
