package import CofferBase

/// The vault settings that can be changed after the vault's creation.
///
/// A change that weakens the vault's protection, as defined by ``isLooser(than:)``, is called a loosening and
/// requires the passcode. Other changes do not require the passcode.
public struct VaultSettings: Sendable, Hashable {
    /// The requirements for passcodes. They apply whenever a passcode is set or changed, not to the current
    /// passcode.
    public var policy: PasscodePolicy

    /// Whether wrong passcodes cause increasing delays, from the fifth wrong passcode on.
    public var delaysAttempts: Bool

    /// Whether the tenth wrong passcode in a row erases the vault.
    public var erasesAfterTenFailures: Bool

    /// Whether files may be added, and edited copies saved, only while dm-crypt, fscrypt or the file system
    /// itself is known to encrypt the storage that holds the vault. Stored files stay readable on any disk.
    /// The setting also applies to the users' namespaces in the vault, whatever their own settings.
    public var requiresDiskEncryption: Bool

    /// Whether a new token, file or database whose class is not given gets the class
    /// ``ProtectionClass/whenUnlocked``, so that a backup can restore it on another device. If not, it gets
    /// ``ProtectionClass/whenUnlockedThisDeviceOnly``. Existing items keep their class, and a user's
    /// namespace has its own setting.
    public var newItemsAreMovable: Bool

    /// Whether the vault may have a recovery key. A change to `false` removes an existing one.
    public var allowsRecoveryKey: Bool

    /// The period of inactivity after which the vault locks; `nil` if inactivity never locks the vault. The
    /// period is rounded down to whole seconds and must be at least one second.
    public var inactivity: Duration?

    package init(
        policy: PasscodePolicy, delaysAttempts: Bool, erasesAfterTenFailures: Bool = true,
        requiresDiskEncryption: Bool = false, newItemsAreMovable: Bool = false,
        allowsRecoveryKey: Bool = true, inactivity: Duration?
    ) {
        self.policy = policy
        self.delaysAttempts = delaysAttempts
        self.erasesAfterTenFailures = erasesAfterTenFailures
        self.requiresDiskEncryption = requiresDiskEncryption
        self.newItemsAreMovable = newItemsAreMovable
        self.allowsRecoveryKey = allowsRecoveryKey
        self.inactivity = inactivity
    }

    /// Returns whether any of these settings protects the vault less than the same setting in `other`: a
    /// policy that requires less, no delays, no erasure or no disk encryption where `other` has or requires
    /// them, movable new items where those of `other` stay on this device, a recovery key where `other`
    /// forbids it, or a longer period of inactivity. An inactivity of `nil` counts as the longest period.
    ///
    /// - Parameter other: The settings to compare with.
    /// - Returns: Whether a change from `other` to these settings is a loosening, even if it also tightens
    ///   some settings.
    public func isLooser(than other: VaultSettings) -> Bool {
        policy.isLooser(than: other.policy) || !delaysAttempts && other.delaysAttempts
            || !erasesAfterTenFailures && other.erasesAfterTenFailures
            || !requiresDiskEncryption && other.requiresDiskEncryption
            || newItemsAreMovable && !other.newItemsAreMovable
            || allowsRecoveryKey && !other.allowsRecoveryKey || other.locksSooner(than: self)
    }

    /// Returns whether these settings lock the vault after a shorter period of inactivity than `other` does.
    package func locksSooner(than other: VaultSettings) -> Bool {
        guard let inactivity else { return false }
        return other.inactivity.map { inactivity < $0 } ?? true
    }

    /// Returns a period of inactivity in whole seconds, the unit in which vaults store the period.
    ///
    /// - Parameter inactivity: The period; `nil` for none.
    /// - Returns: The number of seconds; `nil` for none.
    /// - Throws: `invalidInput` if the period is less than one second or longer than a vault can store.
    package static func seconds(of inactivity: Duration?) throws(CofferError) -> Int? {
        guard let inactivity else { return nil }
        let seconds = inactivity.components.seconds
        guard (1...Int64(UInt32.max)).contains(seconds) else {
            throw CofferError(.invalidInput, "The inactivity time must be 1 to \(UInt32.max) seconds.")
        }
        return Int(seconds)
    }
}

extension Keybag {
    /// The settings in the keybag.
    package var settings: VaultSettings {
        VaultSettings(
            policy: policy, delaysAttempts: delaysAttempts, erasesAfterTenFailures: erasesAfterTenFailures,
            requiresDiskEncryption: requiresDiskEncryption, newItemsAreMovable: newItemsAreMovable,
            allowsRecoveryKey: allowsRecoveryKey,
            inactivity: inactivity.map { .seconds($0) })
    }

    /// Replaces the keybag's settings.
    ///
    /// - Parameter settings: The new settings.
    /// - Throws: `invalidInput` if the period of inactivity cannot be stored in a vault.
    package mutating func apply(_ settings: VaultSettings) throws(CofferError) {
        inactivity = try VaultSettings.seconds(of: settings.inactivity)
        policy = settings.policy
        delaysAttempts = settings.delaysAttempts
        erasesAfterTenFailures = settings.erasesAfterTenFailures
        requiresDiskEncryption = settings.requiresDiskEncryption
        newItemsAreMovable = settings.newItemsAreMovable
        allowsRecoveryKey = settings.allowsRecoveryKey
        if !allowsRecoveryKey { removeRecoveryKey() }
    }
}
