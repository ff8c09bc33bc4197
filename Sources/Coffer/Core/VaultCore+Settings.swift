import CofferBase
import CofferEngine
import CofferVault

/// Methods that change a vault's settings.
extension VaultCore {
    /// Changes the settings. Evaluates the passcode only if the change requires it.
    func changeSettings(
        passcode: Passcode?, _ change: (inout VaultSettings) throws(CofferError) -> Void
    ) throws(CofferError) -> VaultSettings {
        var outcome: SettingsOutcome = try home.withExclusiveVault { (vault) throws(CofferError) in
            let stored = try Keybag.record.read(device: device, in: vault, repairing: true)
            try requireNewest(in: vault)
            return try apply(change, to: stored, in: vault, isVerified: stored.payload.passcode == nil)
        }
        if case .needsPasscode(let reason) = outcome {
            guard let passcode else { throw CofferError(.locked, reason) }
            _ = try evaluating(passcode) { (keys, stored, vault) throws(CofferError) in
                outcome = try apply(change, to: stored, in: vault, isVerified: true)
                return keys
            }
        }
        switch outcome {
        case .changed(let old, let new):
            if new.locksSooner(than: old) { lock(.requested) }
            return new
        case .refused(let error): throw error
        case .needsPasscode(let reason): throw CofferError(.locked, reason)
        }
    }

    /// The outcome of a change to the settings.
    private enum SettingsOutcome {
        case changed(from: VaultSettings, to: VaultSettings)
        /// The caller's closure threw. The closure's error does not describe the state of the vault's files.
        case refused(CofferError)
        /// Nothing was changed, because the passcode is required for the reason in the associated text, which
        /// is shown to the owner.
        case needsPasscode(String)
    }

    /// Applies a change to the settings, unless the change requires the passcode and `isVerified` is `false`.
    private func apply(
        _ change: (inout VaultSettings) throws(CofferError) -> Void,
        to stored: AuthenticatedRecord<Keybag>.Contents, in vault: borrowing Descriptor, isVerified: Bool
    ) throws(CofferError) -> SettingsOutcome {
        let old = stored.payload.settings
        var new = old
        do throws(CofferError) { try change(&new) } catch { return .refused(error) }
        // Vaults keep whole seconds.
        new.inactivity = try VaultSettings.seconds(of: new.inactivity).map { .seconds($0) }
        if !isVerified {
            if new.isLooser(than: old) {
                return .needsPasscode("Loosening the vault's settings requires the vault's passcode.")
            }
            if new.erasesAfterTenFailures, !old.erasesAfterTenFailures, try isCountFull(in: vault) {
                // The next attempt, even a right one, would erase the vault. The passcode resets the count.
                return .needsPasscode(
                    "At least ten wrong passcodes were counted. Turning erasure on requires the vault's "
                        + "passcode, which resets the count.")
            }
        }
        try updateKeybag(stored, in: vault) { (keybag) throws(CofferError) in try keybag.apply(new) }
        // An unlock overwrites what cannot be overwritten now.
        if !new.allowsRecoveryKey { try? RecoveryRecord.settle(nil, in: vault) }
        return .changed(from: old, to: new)
    }

    /// Returns whether the count of wrong passcodes has reached the limit that erases a vault if erasure is
    /// turned on.
    private func isCountFull(in vault: borrowing Descriptor) throws(CofferError) -> Bool {
        let record = try AttemptRecord.record.read(device: device, in: vault)
        try rollbackGuard(in: vault)?.verify(record.generation)
        return record.payload.attemptsLeft == 0
    }
}
