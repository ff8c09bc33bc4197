import CofferVault

/// The names of a vault's keys in the kernel keyring.
package enum KernelKeyNames {
    /// The names of the keys of every class.
    package static func all(of vaultID: VaultID) -> [String] {
        ProtectionClass.allCases.map { KernelKeyCache.name($0, vaultID: vaultID) }
    }
}
