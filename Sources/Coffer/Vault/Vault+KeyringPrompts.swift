public import CofferBase
import CofferEngine
public import CofferVault

extension Vault {
    /// Returns whether the desktop keyring may ask the user for its password when a program opens this vault
    /// with ``PromptPolicy/asSet``, as the command `coffer` does. You can call this method while the vault is
    /// locked.
    ///
    /// - Throws: `wiped`; `permissionDenied`.
    public func allowsKeyringPrompts() async throws(CofferError) -> Bool {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try KeyringPromptMark.isSet(in: core.home.openVault())
        }
    }

    /// Sets whether the desktop keyring may ask the user for its password when a program opens this vault
    /// with ``PromptPolicy/asSet``. By default it may not. You can call this method while the vault is
    /// locked.
    ///
    /// Allowing prompts requires the passcode, if one is set; forbidding them does not, and a passcode that
    /// is not required is not evaluated. The setting applies from the next opening of the vault on. It only
    /// matters while the device key is in the Secret Service.
    ///
    /// - Parameters:
    ///   - isAllowed: Whether prompts are allowed.
    ///   - passcode: The vault's passcode, if the change requires it. It counts as an attempt to unlock.
    /// - Throws: `locked` if the passcode is required and none was passed; `wrongPasscode`; `attemptDelayed`
    ///   if the attempt came too soon after a wrong passcode; `busy`, `wiped`, `corrupt`, `readOnly` or
    ///   `noSpace`.
    public func setKeyringPrompts(_ isAllowed: Bool, passcode: Passcode? = nil) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in
            try core.setKeyringPrompts(isAllowed, passcode: passcode)
        }
    }
}

extension VaultCore {
    fileprivate func setKeyringPrompts(_ isAllowed: Bool, passcode: Passcode?) throws(CofferError) {
        let isDone: Bool = try home.withExclusiveVault { (vault) throws(CofferError) in
            let isSet = try KeyringPromptMark.isSet(in: vault)
            let keybag = try Self.readKeybag(device: device, in: vault)
            guard !isAllowed || isSet || keybag.passcode == nil else { return false }
            if isAllowed != isSet { try KeyringPromptMark.set(isAllowed, in: vault) }
            return true
        }
        guard !isDone else { return }
        guard let passcode else {
            throw CofferError(
                .locked, "Letting the desktop keyring ask for its password requires the vault's passcode.")
        }
        _ = try evaluating(passcode) { (keys, _, vault) throws(CofferError) in
            try KeyringPromptMark.set(true, in: vault)
            return keys
        }
    }
}
