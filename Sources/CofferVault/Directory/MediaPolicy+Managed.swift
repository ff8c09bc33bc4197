package import CofferBase
package import CofferEngine

extension ManagedPolicy {
    /// Returns a new vault's options with the administrator's rules about the medium.
    func tightened(_ options: VaultOptions) -> VaultOptions {
        var options = options
        if flag(.allowRemovableMedia) == false { options.allowsExternalMedia = false }
        if flag(.requireDiskEncryption) == true { options.requiresDiskEncryption = true }
        return options
    }

    /// Throws `refused` if a vault may not be opened where it is.
    package func requireMedium(of vault: borrowing Descriptor) throws(CofferError) {
        try requireFixedMedium(of: vault)
        try requireEncryption(of: vault)
    }

    /// Throws `refused` if the administrator forbids removable media and the directory is on one.
    package func requireFixedMedium(of directory: borrowing Descriptor) throws(CofferError) {
        guard flag(.allowRemovableMedia) == false else { return }
        do throws(CofferError) {
            try MediaPolicy.check(directory)
        } catch {
            guard error.code == .refused else { throw error }
            throw refusal(
                .allowRemovableMedia,
                "\(directory.path) is on a removable medium or a network file system, which the "
                    + "administrator's policy does not allow")
        }
    }

    /// Throws `refused` if the administrator requires disk encryption and the directory is not known to be on
    /// an encrypted disk.
    private func requireEncryption(of directory: borrowing Descriptor) throws(CofferError) {
        guard flag(.requireDiskEncryption) == true else { return }
        do throws(CofferError) {
            try MediaPolicy.checkEncryption(of: directory)
        } catch {
            guard error.code == .refused else { throw error }
            throw refusal(
                .requireDiskEncryption,
                "\(directory.path) is not known to be on an encrypted disk, which the administrator's policy "
                    + "requires")
        }
    }
}
