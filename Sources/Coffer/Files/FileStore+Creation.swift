import CofferBase
import CofferEngine
import CofferVault

extension FileStore {
    /// Creates an empty store's files in a new vault's directory, which is not visible yet.
    static func create(in vault: borrowing Descriptor, device: DeviceKey) throws(CofferError) {
        try FileKeysetRecord.create(device: device, in: vault)
        try FileIndex.create(device: device, in: vault)
        try vault.makeDirectory(VaultDirectory.filesName)
    }
}
