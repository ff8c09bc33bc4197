public import CofferBase
public import CofferVault

extension Vault {
    /// Returns the vault's current requirements for a new passcode. You can call this method while the vault
    /// is locked.
    ///
    /// ```swift
    /// try await vault.passcodePolicy().check(typed)  // before the user types it again
    /// ```
    ///
    /// - Throws: `wiped` or `corrupt`.
    public func passcodePolicy() async throws(CofferError) -> PasscodePolicy {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.readKeybag().policy }
    }
}
