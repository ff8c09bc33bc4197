import CofferBase
import CofferEngine
import CofferVault

/// The change of a vault's settings.
extension VaultCore {
    /// Changes the settings. The passcode is evaluated only if the change needs it.
    func changeSettings(
        passcode: Passcode?, _ change: (inout VaultSettings) throws(CofferError) -> Void
    ) throws(CofferError) -> VaultSettings {
        var outcome: SettingsOutcome = try home.withExclusiveVault { (vault) throws(CofferError) in
            let stored = try Keybag.record.read(device: device, in: vault, repairing: true)
            return try apply(change, to: stored, in: vault, isVerified: stored.payload.passcode == nil)
        }
        if case .needsPasscode(let reason) = outcome {
            guard let passcode else { throw CofferError(.locked, reason) }
            _ = try evaluating(passcode) { (keys, stored, vault) throws(CofferError) in
                outcome = try apply(change, to: stored, in: vault, isVerified: true)
                return keys
            }
        }
        guard case .changed(let old, let new) = outcome else { throw CofferError.locked }
        if new.locksSooner(than: old) { lock(.requested) }
        return new
    }

    /// The outcome of a change of the settings.
    private enum SettingsOutcome {
        case changed(from: VaultSettings, to: VaultSettings)
        /// Nothing was changed, for a reason that the owner can read.
        case needsPasscode(String)
    }

    /// Applies a change of the settings, unless it needs the passcode and that was not verified.
    private func apply(
        _ change: (inout VaultSettings) throws(CofferError) -> Void,
        to stored: AuthenticatedRecord<Keybag>.Contents, in vault: borrowing Descriptor, isVerified: Bool
    ) throws(CofferError) -> SettingsOutcome {
        let old = stored.payload.settings
        var new = old
        try change(&new)
        // Vaults keep whole seconds.
        new.inactivity = try VaultSettings.seconds(of: new.inactivity).map { .seconds($0) }
        if !isVerified {
            if new.isLooser(than: old) {
                return .needsPasscode("To loosen the settings of a vault needs its passcode.")
            }
            if new.erasesAfterTenFailures, !old.erasesAfterTenFailures, try isCountFull(in: vault) {
                // The next attempt, even a right one, would erase the vault. The passcode resets the count.
                return .needsPasscode(
                    "At least ten wrong passcodes are counted: to have the vault erased after ten needs its "
                        + "passcode, which resets the count.")
            }
        }
        try updateKeybag(stored, in: vault) { (keybag) throws(CofferError) in try keybag.apply(new) }
        return .changed(from: old, to: new)
    }

    /// Returns whether as many wrong passcodes are counted as erase a vault that erases.
    private func isCountFull(in vault: borrowing Descriptor) throws(CofferError) -> Bool {
        let record = try AttemptRecord.record.read(device: device, in: vault)
        try rollbackGuard(in: vault)?.verify(record.generation)
        return record.payload.attemptsLeft == 0
    }
}
