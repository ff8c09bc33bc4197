public import CofferBase
public import CofferVault
import CofferCrypto
import CofferEngine

/// The opening of a vault with its recovery key, after the passcode or the device key was lost.
///
/// Creating this object checks the key and changes nothing. ``finish(newPasscode:newRecoveryKey:keyring:)``
/// then sets a new passcode and a new recovery key in one step: after a crash, either the old ones count or
/// the new ones do. The new key replaces the old one because a sheet that was used may have been seen.
///
/// ```swift
/// let recovery = try await VaultRecovery(of: location, with: RecoveryKey.readFromTerminal())
/// let next = try RecoveryKey.generate()
/// try show(next.text())
/// let vault = try await recovery.finish(newPasscode: passcode, newRecoveryKey: next)
/// ```
public final class VaultRecovery: Sendable {
    /// The identity of the vault.
    public let vaultID: VaultID
    /// The vault's requirements for the new passcode.
    public let policy: PasscodePolicy
    /// Whether the device key could not be read, and was opened with the recovery key.
    public var isDeviceKeyLost: Bool { loss != nil }
    /// The error with which the device key could not be read; `nil` if it could be read.
    public let loss: CofferError?
    /// Whether the recovery destroys items of the class
    /// ``ProtectionClass/whenPasscodeSetThisDeviceOnly``, which the recovery key does not open, if there are
    /// any.
    public let endsPasscodeDependentItems: Bool

    /// Whether the recovery key opens the vault without its device key, as the new recovery key then does.
    public let opensWithoutDeviceKey: Bool

    private let core: VaultCore
    private let key: RecoveryKey

    /// Opens the vault at `location` far enough to check the recovery key, and checks it.
    ///
    /// - Parameters:
    ///   - location: The vault's directory.
    ///   - key: The recovery key.
    ///   - clock: The clock that the vault uses.
    ///   - interaction: Whether the user's desktop keyring may prompt the user.
    /// - Throws: `absent` if the vault has no recovery key; `notAuthentic` if `key` is not the vault's; if
    ///   the device key cannot be read and there is no copy of it, the error with which it cannot be read;
    ///   otherwise, the errors that ``Vault/init(at:clock:interaction:)`` throws.
    public init(
        of location: VaultLocation, with key: RecoveryKey, clock: VaultClock = .system,
        interaction: PromptPolicy = .never
    ) async throws(CofferError) {
        var loss: CofferError?
        let core: VaultCore
        do throws(CofferError) {
            core = try await Vault(at: location, clock: clock, interaction: interaction).core
        } catch {
            guard Self.isPossibleLoss(error) else { throw error }
            loss = error
            core = try await BlockingExecutor.run { _ throws(CofferError) in
                try Self.core(at: location, with: key, clock, interaction, after: error)
            }
        }
        let (keybag, required) = try await BlockingExecutor.run { _ throws(CofferError) in
            let keybag = try core.readKeybag()
            try core.requireRecoveryKeys()
            let required = try core.managed.policy().passcodePolicy(with: keybag.policy)
            _ = try keybag.unwrap(with: key, device: core.device)
            return (keybag, required)
        }
        self.core = core
        self.loss = loss
        self.key = key
        vaultID = core.device.vaultID
        policy = required
        endsPasscodeDependentItems = keybag.passcode != nil
        opensWithoutDeviceKey = keybag.recoverySlots?.hasDeviceKey == true
    }

    /// Returns whether the device key may be what could not be read.
    private static func isPossibleLoss(_ error: CofferError) -> Bool {
        ![.notInitialised, .wiped, .foreign, .unsupportedVersion, .refused].contains(error.code)
    }

    /// Opens a vault with the copy of its device key.
    private static func core(
        at location: VaultLocation, with key: RecoveryKey, _ clock: VaultClock,
        _ interaction: PromptPolicy, after loss: CofferError
    ) throws(CofferError) -> VaultCore {
        let home = try VaultDirectory.openDirectory(location, interaction: interaction)
        let vault = try home.openVault()
        guard let state = try home.state() else { throw loss }
        let copy: SymmetricKey
        do throws(CofferError) {
            copy = try RecoveryRecord.deviceKey(key, vaultID: state.vaultID, in: vault)
        } catch {
            throw error.code == .absent ? loss : error
        }
        // The keybag, which is authenticated under the device key, shows that this is the vault's.
        let core = try VaultCore(
            home: home, device: DeviceKey(vaultID: state.vaultID, deviceKey: copy), clock: clock,
            actions: .ofStores)
        try core.processPendingCommands()
        return core
    }

    /// Sets a new passcode and a new recovery key, and opens the vault with them. The count of wrong
    /// passcodes starts again at zero.
    ///
    /// Items of the class ``ProtectionClass/whenPasscodeSetThisDeviceOnly`` are destroyed, because only the
    /// old passcode opened them. If the Secret Service has lost the device key, it usually has lost the
    /// vault's tokens, too, and with them the keys of its databases; files are in the vault directory.
    ///
    /// - Parameters:
    ///   - newPasscode: The new passcode.
    ///   - newRecoveryKey: The recovery key that replaces the one that was used, from
    ///     `RecoveryKey.generate()`.
    ///   - keyring: Where to store a device key that was lost; `nil` for where it was. A device key that is
    ///     not lost stays where it is.
    /// - Returns: The open vault, unlocked, and the number of items that were destroyed, which is `nil` if
    ///   they could not be removed yet and the next unlock has to do it.
    /// - Throws: `refused` if the policy does not allow the passcode, or if the new recovery key is the old
    ///   one; `wiped` if ten wrong passcodes were entered; with the Secret Service, the errors that
    ///   ``Vault/migrateStorage(to:passcode:)`` throws; `readOnly`, `noSpace`, `busy` or `corrupt`.
    public func finish(
        newPasscode: Passcode, newRecoveryKey: RecoveryKey, keyring: KeyringBackend? = nil
    ) async throws(CofferError) -> (vault: Vault, destroyed: PasscodeDependentItems?) {
        let (core, key, isDeviceKeyLost) = (core, key, isDeviceKeyLost)
        let destroyed = try await BlockingExecutor.run { _ throws(CofferError) in
            if isDeviceKeyLost {
                try policyCheck(core, newPasscode)
                try DeviceKeyRestoration(core: core).restore(to: keyring)
            }
            return try core.recover(with: key, newPasscode: newPasscode, newKey: newRecoveryKey)
        }
        return (Vault(core: core), destroyed)
    }
}

/// Checks the passcode before anything is changed.
private func policyCheck(_ core: VaultCore, _ passcode: Passcode) throws(CofferError) {
    try core.requireRecoveryKeys()
    let policy = try core.policyForOpening()
    try policy.check(newPasscode: passcode, core.readKeybag().policy)
}
