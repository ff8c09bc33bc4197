public import CofferBase
public import CofferVault

extension Vault {
    /// Returns this vault's settings. Works while locked.
    ///
    /// - Throws: `wiped`, `corrupt`.
    public func settings() async throws(CofferError) -> VaultSettings {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.readKeybag().settings }
    }

    /// Changes all settings in one step: after a crash, either all of the changes are stored or none. Works
    /// while locked.
    ///
    /// Loosening a setting requires the passcode, if one is set, so that someone who merely finds the vault
    /// unlocked cannot weaken its protection. Tightening a setting requires no passcode, and a passcode that
    /// is not required is not evaluated. ``VaultSettings/isLooser(than:)`` defines which settings are looser.
    ///
    /// Changing the settings erases nothing. If ten or more wrong passcodes were counted while they did not
    /// erase the vault, turning ``VaultSettings/erasesAfterTenFailures`` on requires the passcode, too, which
    /// resets the count.
    ///
    /// Shortening the inactivity time locks the vault immediately, because keys that are already cached have
    /// the earlier time. Open `Vault` objects, including this one, keep the time with which they were opened.
    ///
    /// ```swift
    /// try await vault.changeSettings { $0.inactivity = .seconds(120) }
    /// ```
    ///
    /// - Parameters:
    ///   - passcode: The vault's passcode, if the change requires it. It counts as an attempt to unlock.
    ///   - change: Receives the current settings and changes them. With a passcode, it may be called twice.
    /// - Returns: The new settings.
    /// - Throws: `locked` if a passcode is required and none was passed, `wrongPasscode`, `attemptDelayed`;
    ///   `invalidInput` for an inactivity time of less than a second; `wiped`, `busy`, `corrupt`, `noSpace`;
    ///   or the error that `change` throws.
    @discardableResult
    public func changeSettings(
        passcode: Passcode? = nil,
        _ change: @escaping @Sendable (inout VaultSettings) throws(CofferError) -> Void
    ) async throws(CofferError) -> VaultSettings {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.changeSettings(passcode: passcode, change)
        }
    }
}
