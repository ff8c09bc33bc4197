import CofferBase
import CofferEngine
import CofferVault

extension VaultCore {
    /// Checks whether the key pairs can be read; empty without key pairs.
    func keyPairChecks() -> [SecurityCheck] {
        Vault.checked("key-pairs") { () throws(CofferError) in
            let count = try KeyPairFile(device: device).read(in: home.openVault()).records.count
            guard count > 0 else { return [] }
            return [
                SecurityCheck(
                    "key-pairs", .ok,
                    "The vault has \(count) key pair\(count == 1 ? "" : "s"). No export and no backup "
                        + "contains a private key, so losing this vault means losing "
                        + (count == 1 ? "it." : "them."))
            ]
        }
    }
}
