import CofferBase
import CofferEngine
import CofferVault

extension VaultCore {
    /// Checks whether parts of the vault are in the format of an earlier release; empty if none is.
    func upgradeChecks(_ keybag: Keybag) -> [SecurityCheck] {
        Vault.checked("format") { () throws(CofferError) in
            let available = try availableUpgrades(keybag, in: home.openVault())
            guard !available.isEmpty else { return [] }
            let parts = available.map(\.summary).joined(separator: "; ")
            return [
                SecurityCheck(
                    "format", .advisory,
                    "An earlier release wrote parts of this vault, which work as they are. An upgrade is "
                        + "available: \(parts).", remedy: .upgradeVault)
            ]
        }
    }
}
