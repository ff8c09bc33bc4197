import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// The recovery key of an open vault.
extension VaultCore {
    /// Makes `key` the vault's recovery key, in place of an older one.
    func setRecoveryKey(
        _ key: RecoveryKey, passcode: Passcode?, keepingDeviceKey: Bool
    ) throws(CofferError) {
        try requireRecoveryKeys()
        _ = try evaluating(passcode) { (keys, stored, vault) throws(CofferError) in
            try stored.payload.requireComplete(for: "a recovery key")
            try finishChanges(stored.payload, in: vault)
            let stored = try Keybag.record.read(device: device, in: vault)
            guard stored.payload.allowsRecoveryKey else {
                throw CofferError(.refused, "The vault's settings do not allow a recovery key.")
            }
            try replaceRecoveryKey(stored, by: key, keepingDeviceKey, in: vault) {
                (changed, created) throws(CofferError) in
                try changed.setRecoveryKey(
                    key, over: keys, created: created, keepingDeviceKey: keepingDeviceKey, device: device)
            }
            try checkRecoveryKey(key, in: vault)
            return keys
        }
    }

    /// Changes the keybag to one with `key` as its recovery key, together with the copy of the device key.
    private func replaceRecoveryKey(
        _ stored: AuthenticatedRecord<Keybag>.Contents, by key: RecoveryKey, _ keepingDeviceKey: Bool,
        in vault: borrowing Descriptor,
        _ change: (inout Keybag, _ created: UInt64) throws(CofferError) -> Void
    ) throws(CofferError) {
        let former = stored.payload.recoverySlots
        let identifier = try key.identifier(vaultID: device.vaultID)
        guard identifier != former?.identifier else {
            throw CofferError(
                .refused, "This key is the vault's recovery key already. Generate a new recovery key.")
        }
        let created = UInt64(max(0, clock.wallClock().components.seconds))
        var slots: RecoverySlots?
        do throws(CofferError) {
            if keepingDeviceKey {
                let slot = try RecoveryRecord.slot(key, device: device)
                try RecoveryRecord.stage(slot, beside: former, in: vault)
            }
            try updateKeybag(stored, in: vault) { (keybag) throws(CofferError) in
                try change(&keybag, created)
                slots = keybag.recoverySlots
            }
        } catch {
            // A write or a flush failed: what the disk has now, it may not have after a power cut. So both
            // slots of the copy of the device key stay, unless the keybag is known to be the old one.
            let kept = try? Keybag.record.read(device: device, in: vault).payload
            guard let kept, kept.recoverySlots?.identifier != identifier else {
                throw CofferError.unknownRecoveryKey(error)
            }
            try? RecoveryRecord.settle(kept.recoverySlots, in: vault)
            throw error
        }
        // The change is made. An unlock overwrites what cannot be overwritten now.
        try? RecoveryRecord.settle(slots, in: vault)
    }

    /// Throws unless `key` opens every recovery slot of the vault, and its copy of the device key.
    func checkRecoveryKey(_ key: RecoveryKey) throws(CofferError) {
        guard try readKeybag().recoverySlots != nil else { throw CofferError.noRecoveryKey }
        let vault = try home.openVault()
        try home.mappingMissingFiles { () throws(CofferError) in try checkRecoveryKey(key, in: vault) }
    }

    private func checkRecoveryKey(
        _ key: RecoveryKey, in vault: borrowing Descriptor
    ) throws(CofferError) {
        let keybag = try Self.readKeybag(device: device, in: vault)
        _ = try keybag.unwrap(with: key, device: device)
        guard keybag.recoverySlots?.hasDeviceKey == true else { return }
        let copy: SymmetricKey
        do throws(CofferError) {
            copy = try RecoveryRecord.deviceKey(key, vaultID: device.vaultID, in: vault)
        } catch {
            guard error.code == .absent else { throw error }
            throw CofferError(
                .corrupt, "The copy of the device key is missing.", remedy: .createRecoveryKey)
        }
        guard try copy.isEqual(to: device.deviceKey().key) else {
            throw CofferError(
                .corrupt, "The copy of the device key is not that of this vault's device key.",
                remedy: .createRecoveryKey)
        }
    }

    /// Removes the recovery key. Returns whether there was one.
    func removeRecoveryKey() throws(CofferError) -> Bool {
        try home.withExclusiveVault { (vault) throws(CofferError) in
            let stored = try Keybag.record.read(device: device, in: vault, repairing: true)
            try requireNewest(in: vault)
            let isPresent = stored.payload.recoverySlots != nil
            if isPresent {
                try updateKeybag(stored, in: vault) { (keybag) throws(CofferError) in
                    keybag.removeRecoveryKey()
                }
            }
            // The key opens nothing any more. An unlock overwrites what cannot be overwritten now.
            guard isPresent else {
                try RecoveryRecord.settle(nil, in: vault)
                return false
            }
            try? RecoveryRecord.settle(nil, in: vault)
            return true
        }
    }

    /// Throws `refused` if the administrator's policy allows no recovery keys.
    func requireRecoveryKeys() throws(CofferError) {
        try managed.policy().require(.allowRecoveryKey, toAllow: "recovery keys")
        try managed.policy().requireUnlockMethod(.recoveryKey)
    }

    // MARK: Recovery

    /// The result of a recovery that does not throw.
    private enum Recovered {
        case opened([ProtectionClass: ClassKey], PasscodeDependentItems?)
        /// Another process removed the recovery key in the meantime.
        case keyRemoved
        /// Ten wrong passcodes were entered, and the vault must be erased.
        case limitReached
    }

    /// Opens the vault with `key`, sets a new passcode, and makes `newKey` the recovery key.
    ///
    /// - Returns: The number of items that were destroyed because only the old passcode opened them; `nil` if
    ///   the next unlock has to remove them.
    func recover(
        with key: RecoveryKey, newPasscode: Passcode, newKey: RecoveryKey
    ) throws(CofferError) -> PasscodeDependentItems? {
        try requireRecoveryKeys()
        let policy = try policyForOpening()
        let early = try readKeybag()
        try early.policy.check(newPasscode)
        try policy.check(newPasscode: newPasscode, early.policy)
        // The derivation is slow, so it holds no lock.
        let derived = try DerivedPasscode(
            newPasscode, .new(early.passcode?.cost ?? .standard), device: device)
        let locks = keys.locks
        let outcome = try home.withExclusiveVault { (vault) throws(CofferError) in
            try recover(with: key, derived, newPasscode, newKey: newKey, in: vault)
        }
        switch outcome {
        case .keyRemoved: throw CofferError.noRecoveryKey
        case .limitReached:
            try actions.erase(self)
            throw CofferError(
                .wiped, "This vault was erased after too many wrong passcodes, which no recovery key undoes.",
                remedy: .activateVault)
        case .opened(let recovered, let destroyed):
            keys.replace(with: recovered, since: locks)
            cachedKeys.remove(.whenPasscodeSetThisDeviceOnly)
            events.keysEvicted(of: [.whenPasscodeSetThisDeviceOnly])
            try? drainPendingTokens()
            return destroyed
        }
    }

    private func recover(
        with key: RecoveryKey, _ derived: DerivedPasscode, _ newPasscode: Passcode, newKey: RecoveryKey,
        in vault: borrowing Descriptor
    ) throws(CofferError) -> Recovered {
        let stored = try Keybag.record.read(device: device, in: vault, repairing: true)
        let old = stored.payload
        guard old.recoverySlots != nil else { return .keyRemoved }
        // Another process may have changed the policy in the meantime.
        try old.policy.check(newPasscode)
        var all = try old.unwrap(with: key, device: device)
        let isCopied = old.recoverySlots?.hasDeviceKey == true
        guard try resetAttempts(old, in: vault) else { return .limitReached }
        let lasting = ProtectionClass.all(hasPasscode: false).filter { all[$0] == nil }
        all.merge(try ClassKey.make(for: lasting, vaultID: device.vaultID)) { old, _ in old }
        try replaceRecoveryKey(stored, by: newKey, isCopied, in: vault) {
            (changed, created) throws(CofferError) in
            try changed.protect(all, under: derived, device: device)
            try changed.setRecoveryKey(
                newKey, over: all, created: created, keepingDeviceKey: isCopied, device: device)
            // Only the old passcode opened the class that requires one.
            changed.hasOrphans = changed.hasOrphans || old.passcode != nil
        }
        // The vault is recovered. If the rest fails, the next unlock does it.
        guard let destroyed = try? actions.removeOrphans(self, vault),
            let more = try? ClassKey.make(
                for: [.whenPasscodeSetThisDeviceOnly], vaultID: device.vaultID)
        else { return .opened(all, nil) }
        let whole = all.merging(more) { old, _ in old }
        do throws(CofferError) {
            try updateKeybag(in: vault) { (changed) throws(CofferError) in
                try changed.protect(whole, under: derived, device: device)
            }
            return .opened(whole, destroyed)
        } catch {
            return .opened(all, destroyed)
        }
    }

    /// Resets the count of wrong passcodes. Returns `false` if the count has reached the limit, at which the
    /// vault must be erased.
    ///
    /// A count that is older than the one in the Secret Service is accepted, because wrong passcodes are not
    /// what a recovery key protects from; otherwise, nothing could open a vault that was restored from a
    /// backup.
    private func resetAttempts(_ keybag: Keybag, in vault: borrowing Descriptor) throws(CofferError) -> Bool {
        let record = try AttemptRecord.record.read(device: device, in: vault, repairing: true)
        let attempts = record.payload.settled(by: keybag.passcodeTag)
        guard keybag.passcode == nil || limiter(keybag).attemptsLeft(attempts) != 0 else { return false }
        let reset = try AttemptRecord.record.update(
            record, to: AttemptRecord(), device: device, in: vault)
        try rollbackGuard(in: vault)?.record(reset.generation)
        return true
    }
}

extension CofferError {
    /// The error after a failure that may have come too late to keep the old recovery key valid.
    fileprivate static func unknownRecoveryKey(_ error: CofferError) -> CofferError {
        CofferError(
            error.code,
            "\(error.message) The new recovery key may be valid already. Keep both the old and the new one "
                + "until a check shows which of them opens the vault.",
            remedy: error.remedy, systemError: error.systemError)
    }
}
