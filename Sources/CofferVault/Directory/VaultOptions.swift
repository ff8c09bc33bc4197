public import CofferCrypto

/// The settings of a new vault.
public struct VaultOptions: Sendable {
    /// The requirements for passcodes.
    public var policy: PasscodePolicy = .none

    /// Whether wrong passcodes cause increasing delays, from the fifth on.
    public var delaysAttempts = true

    /// The time without use after which the vault locks; `nil` if only a reboot locks it. Whole seconds, at
    /// least one.
    public var inactivity: Duration? = .seconds(600)

    /// The cost of deriving a key from the passcode.
    public var cost = Argon2id.Cost.standard

    /// Where the device key and the tokens are kept.
    public var keyring = KeyringBackend.file

    /// Whether the vault may be on a removable medium or a network file system, and files may be added from
    /// there.
    public var allowsExternalMedia = false

    /// The defaults: no policy, delays, the embedded keyring, 10 minutes, `Argon2id.Cost.standard`.
    public init() {}
}
