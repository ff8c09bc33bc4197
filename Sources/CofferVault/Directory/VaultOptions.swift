public import CofferCrypto

/// The settings for a new vault.
public struct VaultOptions: Sendable {
    /// The requirements for passcodes.
    public var policy: PasscodePolicy = .none

    /// Whether wrong passcodes cause increasing delays, from the fifth wrong passcode on.
    public var delaysAttempts = true

    /// Whether the tenth wrong passcode in a row erases the vault. If not, only ``delaysAttempts`` limits how
    /// often someone with access to the account can guess the passcode, and earlier releases cannot open the
    /// vault.
    public var erasesAfterTenFailures = true

    /// The period of inactivity after which the vault locks; `nil` if inactivity never locks the vault. The
    /// period is rounded down to whole seconds and must be at least one second.
    public var inactivity: Duration? = .seconds(600)

    /// The cost of deriving a key from the passcode.
    public var cost = Argon2id.Cost.standard

    /// The backend that stores the device key and the tokens.
    public var keyring = KeyringBackend.file

    /// Whether the vault may be on a removable medium or a network file system, and whether files may be
    /// added from such media.
    public var allowsExternalMedia = false

    /// Whether the vault may be created, and files may be added, only where dm-crypt, fscrypt or the file
    /// system itself is known to encrypt the storage. Memory does not count as encrypted. Applies to files in
    /// the users' namespaces, too. Earlier releases cannot open a vault with this setting.
    public var requiresDiskEncryption = false

    /// Whether a new item whose class is not given gets the class ``ProtectionClass/whenUnlocked``, so that a
    /// backup can restore it on another device. If not, it gets
    /// ``ProtectionClass/whenUnlockedThisDeviceOnly``. Earlier releases cannot open a vault with this
    /// setting.
    public var newItemsAreMovable = false

    /// Whether the vault may have a recovery key. Earlier releases cannot open a vault that may not.
    public var allowsRecoveryKey = true

    /// Creates options with the default values: no passcode policy, delays after wrong passcodes, erasure
    /// after ten wrong passcodes, ``KeyringBackend/file``, 10 minutes of inactivity,
    /// `Argon2id.Cost.standard`, no external media, no requirement for disk encryption, new items that stay
    /// on this device, and a recovery key allowed but not made.
    public init() {}
}
