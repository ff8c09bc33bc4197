/// What the keys of a vault are called in the kernel keyring.
package enum KernelKeyNames {
    /// The keys of every class.
    package static func all(of vaultID: VaultID) -> [String] {
        ProtectionClass.allCases.map { KernelKeyCache.name($0, vaultID: vaultID) }
    }
}
