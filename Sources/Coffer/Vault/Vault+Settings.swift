public import CofferBase
public import CofferVault

extension Vault {
    /// The settings of this vault, which can be read while it is locked.
    ///
    /// - Throws: `wiped`, `corrupt`.
    public func settings() async throws(CofferError) -> VaultSettings {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.readKeybag().settings }
    }

    /// Changes the settings, all at once or, after an error or a crash, not at all. Works while locked.
    ///
    /// To loosen a setting needs the passcode, if one is set: whoever only finds the vault unlocked cannot
    /// take its protection away. To tighten needs none, and a passcode that is not needed is not evaluated.
    /// ``VaultSettings/isLooser(than:)`` defines the direction.
    ///
    /// A shorter inactivity time locks the vault at once, because the keys that were cached before have the
    /// earlier one. A vault that is open, this one included, keeps the time with which it was opened.
    ///
    /// ```swift
    /// try await vault.changeSettings { $0.inactivity = .seconds(120) }
    /// ```
    ///
    /// - Parameters:
    ///   - passcode: The vault's passcode, to loosen a setting; counted like an attempt to unlock.
    ///   - change: Changes the present settings, which it receives. With a passcode it may be called twice.
    /// - Returns: The new settings.
    /// - Throws: `locked` if a passcode is needed and none was given, `wrongPasscode`, `attemptDelayed`;
    ///   `invalidInput` for an inactivity time of less than a second; `wiped`, `busy`, `corrupt`, `noSpace`;
    ///   and whatever `change` throws.
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
