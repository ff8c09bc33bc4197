import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// The return of a lost device key to a vault, after a recovery key opened its copy. The device key is the
/// same one, so a crash at any point leaves a vault that the recovery key or the passcode opens.
struct DeviceKeyRestoration {
    let core: VaultCore

    /// Stores the device key in `keyring`, or where the vault's device record says that it is. If the record
    /// is damaged, the device key is stored in the record.
    func restore(to keyring: KeyringBackend?) throws(CofferError) {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            let backend = try? DeviceKeyFile.read(in: vault).backend
            let key = try core.device.deviceKey().key.withSpan { (bytes) throws(CofferError) in
                try SecretBytes.copying(bytes)
            }
            switch keyring ?? backend ?? .file {
            case .secretService: try restoreToService(key, in: vault)
            case .file: try restoreToFile(key, from: backend, in: vault)
            }
        }
    }

    private func restoreToService(
        _ key: borrowing SecretBytes, in vault: borrowing Descriptor
    ) throws(CofferError) {
        try core.home.service.requireReadable(Deadline(SecretServiceClient.deadline))
        try OrphanedSecretItems(home: core.home).markUsed(core.device.vaultID)
        if let file = try? DeviceKeyFile.read(in: vault), file.backend == .secretService {
            return try DeviceKey.storeInSecretService(key, sealedBy: file, to: core.home.service)
        }
        let file = DeviceKeyFile(
            .secretService, vaultID: core.device.vaultID, key: try SecretBytes.random(count: 32))
        try DeviceKey.storeInSecretService(key, sealedBy: file, to: core.home.service)
        try write(file, in: vault)
    }

    /// Stores the device key and the tokens in the vault directory. Tokens that the Secret Service still has
    /// are copied; the service keeps its items.
    private func restoreToFile(
        _ key: borrowing SecretBytes, from backend: KeyringBackend?, in vault: borrowing Descriptor
    ) throws(CofferError) {
        let hasTokenFile = try vault.status(of: TokenFile.fileName) != nil
        if backend == .secretService || !hasTokenFile { try copyTokens(in: vault) }
        let copy = try key.exposing { (bytes) throws(CofferError) in try SecretBytes.copying(bytes) }
        try write(DeviceKeyFile(.file, vaultID: core.device.vaultID, key: copy), in: vault)
    }

    private func copyTokens(in vault: borrowing Descriptor) throws(CofferError) {
        let service = core.home.service
        let file = TokenFile(device: core.device)
        var contents = file.first(in: vault)
        do throws(CofferError) {
            contents.envelopes = try SecretServiceStorage(tokensOf: core.device.vaultID, client: service)
                .envelopes()
        } catch {
            // Without its mark, the vault leaves the items in the service alone, should it come back.
            try OrphanedSecretItems(home: core.home).forget(core.device.vaultID)
        }
        try file.write(contents, in: vault)
    }

    private func write(
        _ file: borrowing DeviceKeyFile, in vault: borrowing Descriptor
    ) throws(CofferError) {
        if try vault.status(of: DeviceKeyFile.name) == nil {
            try file.create(in: vault)
        } else {
            try file.overwrite(in: vault)
        }
    }
}
