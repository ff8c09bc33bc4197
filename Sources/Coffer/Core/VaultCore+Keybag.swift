import CofferBase
import CofferEngine
import CofferVault

/// Changes of the keybag.
extension VaultCore {
    /// Changes the keybag, under the vault directory's lock.
    func updateKeybag(
        in vault: borrowing Descriptor, _ change: (inout Keybag) throws(CofferError) -> Void
    ) throws(CofferError) {
        try updateKeybag(Keybag.record.read(device: device, in: vault), in: vault, change)
    }

    /// Changes the keybag that was read since the caller acquired the vault directory's lock. If this throws,
    /// the keybag is unchanged, unless the error's message says that this is not certain.
    func updateKeybag(
        _ stored: AuthenticatedRecord<Keybag>.Contents, in vault: borrowing Descriptor,
        _ change: (inout Keybag) throws(CofferError) -> Void
    ) throws(CofferError) {
        var keybag = stored.payload
        try change(&keybag)
        do throws(CofferError) {
            try Keybag.record.update(stored, to: keybag, device: device, in: vault)
        } catch {
            // The disk may have failed only once, after the new keybag was written.
            let settled: AuthenticatedRecord<Keybag>.Contents?
            do throws(CofferError) {
                settled = try Keybag.record.settle(afterUpdating: stored, device: device, in: vault)
            } catch let again {
                throw CofferError(
                    again.code,
                    "\(error.message) It is not certain whether the change was made: the disk keeps failing.",
                    remedy: again.remedy, systemError: again.systemError)
            }
            guard settled != nil else { throw error }
        }
    }

    /// Marks the keybag as that of a vault with a feature, so that releases that do not know the feature
    /// refuse it. The caller holds the vault directory's lock.
    func mark(_ feature: KeybagFeatures, in vault: borrowing Descriptor) throws(CofferError) {
        let stored = try Keybag.record.read(device: device, in: vault, repairing: true)
        guard !stored.payload.features.contains(feature) else { return }
        try updateKeybag(stored, in: vault) { (keybag) throws(CofferError) in
            keybag.features.insert(feature)
        }
    }
}

extension Keybag {
    /// Throws `unsupported` if this is the keybag of an earlier release and lacks keys that `feature` needs.
    /// Nothing is added before an upgrade asks for it.
    func requireComplete(for feature: String) throws(CofferError) {
        guard !isComplete else { return }
        throw CofferError.needsUpgrade(
            "An earlier release created this vault, whose keybag lacks keys for \(feature).")
    }
}

extension CofferError {
    /// The error for something that a vault of an earlier release lacks until it is upgraded.
    static func needsUpgrade(_ message: String) -> CofferError {
        CofferError(.unsupported, message, remedy: .upgradeVault)
    }
}
