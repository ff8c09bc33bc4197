import CofferBase
import CofferEngine
import CofferVault

/// Checks of the medium on which the vault is.
extension VaultCore {
    /// Checks the medium before a file is added. Throws `refused` if it is an external medium that is not
    /// allowed, or if the vault requires disk encryption and the medium is not known to be encrypted.
    func checkMedium(allowingExternalMedia: Bool) throws(CofferError) {
        if !allowingExternalMedia { try MediaPolicy.checkVault(home.openVault()) }
        try managed.policy().requireFixedMedium(of: home.openVault())
        try checkRequiredDiskEncryption()
    }

    /// Throws `refused` if the vault requires disk encryption and its medium is not known to be encrypted.
    func checkRequiredDiskEncryption() throws(CofferError) {
        guard try requiresDiskEncryption() else { return }
        try MediaPolicy.checkEncryption(of: home.openVault())
    }

    /// Returns whether the settings of this vault require disk encryption or, in a user's namespace, those of
    /// the vault that contains it. Throws an error if the settings of either vault cannot be read.
    func requiresDiskEncryption() throws(CofferError) -> Bool {
        if try managed.policy().flag(.requireDiskEncryption) == true { return true }
        if try readKeybag().requiresDiskEncryption { return true }
        let outer = try home.outermost()
        guard try !outer.status().isSameFile(as: home.directory.status()) else { return false }
        let vault = try outer.open(VaultDirectory.vaultName, [.read, .directory])
        let outerDevice = try DeviceKey.read(in: vault, service: home.service)
        return try Self.readKeybag(device: outerDevice, in: vault).requiresDiskEncryption
    }
}
