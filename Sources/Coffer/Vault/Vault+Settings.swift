public import CofferBase
public import CofferVault

extension Vault {
    /// Returns the class of a new item whose class is not given; see ``VaultSettings/newItemsAreMovable``.
    package func defaultClass() async throws(CofferError) -> ProtectionClass {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.defaultClass() }
    }

    /// Returns this vault's settings. You can call this method while the vault is locked.
    ///
    /// - Throws: `wiped` or `corrupt`.
    public func settings() async throws(CofferError) -> VaultSettings {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.readKeybag().settings }
    }

    /// Changes all settings in one step: after a crash, either all of the changes are stored or none. You can
    /// call this method while the vault is locked.
    ///
    /// Loosening a setting requires the passcode, if one is set, so that someone who merely finds the vault
    /// unlocked cannot weaken its protection. Tightening a setting requires no passcode, and a passcode that
    /// is not required is not evaluated. ``VaultSettings/isLooser(than:)`` defines which settings are looser.
    ///
    /// Changing the settings erases nothing. If ten or more wrong passcodes were counted while they did not
    /// erase the vault, turning on ``VaultSettings/erasesAfterTenFailures`` also requires the passcode, and
    /// the correct passcode resets the count.
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
    ///   - change: A closure that receives the current settings and changes them. If a passcode is passed,
    ///     the closure may be called twice.
    /// - Returns: The new settings.
    /// - Throws: `locked` if a passcode is required and none was passed; `wrongPasscode` if the passcode is
    ///   wrong; `attemptDelayed` if the attempt came too soon after a wrong passcode; `invalidInput` if the
    ///   inactivity time is less than a second; `busy` if another process holds the vault's lock for too
    ///   long; `wiped`, `corrupt` or `noSpace`; or the error that `change` throws.
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
