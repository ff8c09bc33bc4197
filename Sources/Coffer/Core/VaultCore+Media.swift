import CofferBase
import CofferVault

/// Checks of the medium on which the vault is.
extension VaultCore {
    /// Checks the medium before a file is added. Throws `refused` if it is an external medium that is not
    /// allowed, or if the vault requires disk encryption and the medium is not known to be encrypted.
    func checkMedium(allowingExternalMedia: Bool) throws(CofferError) {
        if !allowingExternalMedia { try MediaPolicy.checkVault(home.openVault()) }
        try checkRequiredDiskEncryption()
    }

    /// Throws `refused` if the vault requires disk encryption and its medium is not known to be encrypted.
    func checkRequiredDiskEncryption() throws(CofferError) {
        guard try readKeybag().requiresDiskEncryption else { return }
        try MediaPolicy.checkEncryption(of: home.openVault())
    }
}
