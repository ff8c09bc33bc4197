@testable import Coffer
import CofferEngine

extension KernelKeyCache {
    /// Whether the kernel keyring still has any of a vault's class keys.
    static func isAnyLeft(vaultID: VaultID) -> Bool {
        names(of: vaultID).contains { (try? KernelKeyring.contains($0)) == true }
    }
}
