package import CofferBase

/// The settings of a vault that can be changed after its creation.
///
/// Changing one so that the vault protects less is called loosening here, and needs the passcode;
/// ``isLooser(than:)`` defines it. Everything else can be changed without.
public struct VaultSettings: Sendable, Hashable {
    /// The requirements for passcodes. They apply whenever a passcode is set or changed, not to the present
    /// one.
    public var policy: PasscodePolicy

    /// Whether wrong passcodes cause increasing delays, from the fifth on.
    public var delaysAttempts: Bool

    /// The time without use after which the vault locks; `nil` if only a reboot locks it. Whole seconds, at
    /// least one.
    public var inactivity: Duration?

    package init(policy: PasscodePolicy, delaysAttempts: Bool, inactivity: Duration?) {
        self.policy = policy
        self.delaysAttempts = delaysAttempts
        self.inactivity = inactivity
    }

    /// Whether any part protects less than in `other`: a policy that requires less, no delays where there
    /// were some, or a longer time without use, of which none is the longest.
    ///
    /// - Parameter other: The settings to compare with.
    /// - Returns: Whether a change from `other` to these settings is a loosening, whatever else it tightens.
    public func isLooser(than other: VaultSettings) -> Bool {
        policy.isLooser(than: other.policy) || !delaysAttempts && other.delaysAttempts
            || other.locksSooner(than: self)
    }

    /// Whether the vault locks after a shorter time without use.
    package func locksSooner(than other: VaultSettings) -> Bool {
        guard let inactivity else { return false }
        return other.inactivity.map { inactivity < $0 } ?? true
    }

    /// Returns an inactivity time in seconds, as vaults keep it.
    ///
    /// - Parameter inactivity: The time; `nil` for none.
    /// - Returns: The seconds; `nil` for none.
    /// - Throws: `invalidInput` for less than a second, or for more than the vault can keep.
    package static func seconds(of inactivity: Duration?) throws(CofferError) -> Int? {
        guard let inactivity else { return nil }
        let seconds = inactivity.components.seconds
        guard (1...Int64(UInt32.max)).contains(seconds) else {
            throw CofferError(.invalidInput, "The inactivity time must be at least one second.")
        }
        return Int(seconds)
    }
}

extension Keybag {
    /// The settings in the keybag.
    package var settings: VaultSettings {
        VaultSettings(
            policy: policy, delaysAttempts: delaysAttempts, inactivity: inactivity.map { .seconds($0) })
    }

    /// Replaces the settings.
    ///
    /// - Parameter settings: The new ones.
    /// - Throws: `invalidInput` for an inactivity time that a vault cannot have.
    package mutating func apply(_ settings: VaultSettings) throws(CofferError) {
        inactivity = try VaultSettings.seconds(of: settings.inactivity)
        policy = settings.policy
        delaysAttempts = settings.delaysAttempts
    }
}
