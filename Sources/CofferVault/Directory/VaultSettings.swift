package import CofferBase

/// The vault settings that can be changed after the vault's creation.
///
/// A change that makes the vault protect less, as defined by ``isLooser(than:)``, is called loosening and
/// requires the passcode. Any other change does not require the passcode.
public struct VaultSettings: Sendable, Hashable {
    /// The requirements for passcodes. They apply whenever a passcode is set or changed, not to the current
    /// one.
    public var policy: PasscodePolicy

    /// Whether wrong passcodes cause increasing delays, from the fifth wrong passcode on.
    public var delaysAttempts: Bool

    /// Whether the tenth wrong passcode in a row erases the vault.
    public var erasesAfterTenFailures: Bool

    /// The inactivity time after which the vault locks; `nil` if only a reboot locks it. The time is used in
    /// whole seconds and must be at least one second.
    public var inactivity: Duration?

    package init(
        policy: PasscodePolicy, delaysAttempts: Bool, erasesAfterTenFailures: Bool = true,
        inactivity: Duration?
    ) {
        self.policy = policy
        self.delaysAttempts = delaysAttempts
        self.erasesAfterTenFailures = erasesAfterTenFailures
        self.inactivity = inactivity
    }

    /// Returns whether any of these settings protects less than in `other`: a policy that requires less, no
    /// delays or no erasure where `other` has them, or a longer inactivity time. No inactivity time counts as
    /// the longest.
    ///
    /// - Parameter other: The settings to compare with.
    /// - Returns: Whether a change from `other` to these settings is a loosening, even if it also tightens
    ///   some settings.
    public func isLooser(than other: VaultSettings) -> Bool {
        policy.isLooser(than: other.policy) || !delaysAttempts && other.delaysAttempts
            || !erasesAfterTenFailures && other.erasesAfterTenFailures || other.locksSooner(than: self)
    }

    /// Returns whether these settings lock the vault after a shorter inactivity time than `other`.
    package func locksSooner(than other: VaultSettings) -> Bool {
        guard let inactivity else { return false }
        return other.inactivity.map { inactivity < $0 } ?? true
    }

    /// Returns an inactivity time in whole seconds, as vaults store it.
    ///
    /// - Parameter inactivity: The time; `nil` for none.
    /// - Returns: The number of seconds; `nil` for none.
    /// - Throws: `invalidInput` for less than one second, or for more than a vault can store.
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
            inactivity: inactivity.map { .seconds($0) })
    }

    /// Replaces the settings.
    ///
    /// - Parameter settings: The new settings.
    /// - Throws: `invalidInput` for an inactivity time that a vault cannot store.
    package mutating func apply(_ settings: VaultSettings) throws(CofferError) {
        inactivity = try VaultSettings.seconds(of: settings.inactivity)
        policy = settings.policy
        delaysAttempts = settings.delaysAttempts
        erasesAfterTenFailures = settings.erasesAfterTenFailures
    }
}
