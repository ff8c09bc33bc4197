import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import SystemPackage

/// A migrator that moves a vault's device key and tokens to another backend. It copies and verifies them,
/// commits the move with a single write to the device key file, and then deletes the originals. A crash
/// before the commit leaves the vault on the old backend; a crash after the commit leaves it on the new one.
/// In either case, the next command removes whatever is left in the other backend, as ``OrphanedSecretItems``
/// describes.
struct StorageMigrator {
    let home: VaultDirectory
    let device: DeviceKey

    /// Moves the device key and the tokens to `target`. The caller must hold the vault directory's lock.
    func move(to target: KeyringBackend, in vault: borrowing Descriptor) throws(CofferError)
        -> StorageMigration
    {
        let file = try DeviceKeyFile.read(in: vault)
        guard file.vaultID == device.vaultID else { throw CofferError.wiped }
        guard file.backend != target else {
            throw CofferError(
                .alreadyExists, "The vault already uses the storage backend \(target.rawValue).")
        }
        let key = try DeviceKey.deviceKey(of: file, service: home.service)
        switch target {
        case .secretService: return try moveToService(key, in: vault)
        case .file: return try moveToFile(key, in: vault)
        }
    }

    private func moveToService(
        _ key: borrowing SecretBytes, in vault: borrowing Descriptor
    ) throws(CofferError) -> StorageMigration {
        let envelopes = try TokenFile(device: device).read(in: vault).contents.envelopes
        try OrphanedSecretItems(home: home).markUsed(device.vaultID)
        let file = DeviceKeyFile(
            .secretService, vaultID: device.vaultID, key: try SecretBytes.random(count: 32))
        try DeviceKey.storeInSecretService(key, sealedBy: file, to: home.service)
        let keyring = try SecretServiceStorage(tokensOf: device.vaultID, client: home.service)
        var changes = envelopes.mapValues(StorageChange.put)
        for name in try keyring.envelopes().keys where envelopes[name] == nil { changes[name] = .remove }
        try keyring.apply(changes)
        guard try keyring.envelopes() == envelopes else { throw Self.differs }
        try file.overwrite(in: vault)
        try vault.removeTree(TokenFile.fileName)
        try vault.sync()
        return StorageMigration(from: .file, to: .secretService, tokens: envelopes.count, remaining: 0)
    }

    private func moveToFile(
        _ key: borrowing SecretBytes, in vault: borrowing Descriptor
    ) throws(CofferError) -> StorageMigration {
        let keyring = try SecretServiceStorage(tokensOf: device.vaultID, client: home.service)
        let envelopes = try keyring.envelopes()
        let tokens = TokenFile(device: device)
        var contents = tokens.first(in: vault)
        contents.envelopes = envelopes
        try tokens.write(contents, in: vault)
        guard try tokens.read(in: vault).contents.envelopes == envelopes else { throw Self.differs }
        let copy = try key.exposing { (bytes) throws(CofferError) in try SecretBytes.copying(bytes) }
        try DeviceKeyFile(.file, vaultID: device.vaultID, key: copy).overwrite(in: vault)
        // From here on the file is valid, even if the items in the Secret Service cannot be removed.
        let remains = try? OrphanedSecretItems(home: home).remove(
            device.vaultID, Deadline(SecretServiceClient.promptDeadline))
        return StorageMigration(
            from: .secretService, to: .file, tokens: envelopes.count,
            remaining: remains?.remaining ?? envelopes.count + 1)
    }

    private static var differs: CofferError {
        CofferError(
            .inputOutput,
            "The copied items differ from the originals, so the vault still uses the originals. Try again.")
    }
}
