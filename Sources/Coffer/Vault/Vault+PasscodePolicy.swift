public import CofferBase
public import CofferVault

extension Vault {
    /// Returns the current requirements for a new passcode: the vault's own and those of the administrator's
    /// policy. You can call this method while the vault is locked.
    ///
    /// ```swift
    /// try await vault.passcodePolicy().check(typed)  // before the user types it again
    /// ```
    ///
    /// - Throws: `wiped`, `corrupt` or `policyInvalid`.
    public func passcodePolicy() async throws(CofferError) -> PasscodePolicy {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.managed.policy().passcodePolicy(with: core.readKeybag().policy)
        }
    }
}
