public import CofferCrypto

/// How a new home is set up.
public struct VaultOptions: Sendable {
    /// What passcodes must look like.
    public var policy: PasscodePolicy = .none

    /// Whether wrong passcodes are answered more and more slowly, from the fifth on.
    public var delaysAttempts = true

    /// Without use for so long, the vault locks; `nil`: only a reboot locks it. Whole seconds, at least one.
    public var inactivity: Duration? = .seconds(600)

    /// What deriving a key from the passcode costs.
    public var cost = Argon2id.Cost.standard

    /// Where the device key and the tokens are kept.
    public var keyring = KeyringBackend.file

    /// Whether the home may be on a removable medium or a network file system, and files be added there.
    public var allowsExternalMedia = false

    /// The defaults: no policy, delays, the embedded keyring, 10 minutes, `Argon2id.Cost.standard`.
    public init() {}
}
