import CofferBase
import CofferEngine
import CofferVault

extension FileStore {
    /// Creates the files of an empty store in a new vault, in a directory that is not visible yet.
    static func create(in vault: borrowing Descriptor, device: DeviceKey) throws(CofferError) {
        try FileKeysetRecord.create(device: device, in: vault)
        try FileIndex.create(device: device, in: vault)
        try vault.makeDirectory(VaultDirectory.filesName)
    }
}
