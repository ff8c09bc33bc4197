import CofferBase
import CofferEngine
import CofferVault

extension VaultCore {
    /// Checks whether there is a recovery key, and whether the copy of the device key for it is there.
    func recoveryKeyChecks(_ keybag: Keybag) -> [SecurityCheck] {
        let name = "recovery-key"
        return Vault.checked(name) { () throws(CofferError) in [try recoveryKeyCheck(name, keybag)] }
    }

    private func recoveryKeyCheck(
        _ name: String, _ keybag: Keybag
    ) throws(CofferError) -> SecurityCheck {
        guard let slots = keybag.recoverySlots else {
            guard keybag.allowsRecoveryKey else {
                return SecurityCheck(
                    name, .ok,
                    "The vault's settings allow no recovery key, so a forgotten passcode means a lost vault.")
            }
            return SecurityCheck(
                name, .advisory,
                "There is no recovery key, so a forgotten passcode or a lost device key means a lost vault.",
                remedy: .createRecoveryKey)
        }
        let number = RecoveryKey.number(of: slots.identifier)
        guard slots.hasDeviceKey else {
            return SecurityCheck(
                name, .ok,
                "Recovery key \(number) opens the vault if the passcode is forgotten, but not if the device "
                    + "key is lost.")
        }
        guard try RecoveryRecord.isPresent(slots, in: home.openVault()) else {
            return SecurityCheck(
                name, .missing,
                "The copy of the device key for recovery key \(number) is missing or damaged, so that key "
                    + "does not open the vault if the device key is lost.", remedy: .createRecoveryKey)
        }
        return SecurityCheck(
            name, .ok,
            "Recovery key \(number) opens the vault if the passcode is forgotten or the device key is lost. "
                + "Whoever has that key and a copy of the vault directory can open the vault anywhere.")
    }
}
