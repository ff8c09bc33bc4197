public import CofferBase
public import CofferVault

extension Vault {
    /// The requirements for a new passcode, which were chosen when the vault was created. Works while locked.
    ///
    /// ```swift
    /// try await vault.passcodePolicy().check(typed)  // before the user types it again
    /// ```
    ///
    /// - Throws: `wiped`, `corrupt`.
    public func passcodePolicy() async throws(CofferError) -> PasscodePolicy {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.readKeybag().policy }
    }
}
