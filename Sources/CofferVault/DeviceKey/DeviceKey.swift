package import CofferBase
package import CofferCrypto
package import CofferEngine
import Synchronization
import SystemPackage

/// The vault's identity and its device key D, read from the place that the vault's ``DeviceKeyFile`` names.
package final class DeviceKey: Sendable {
    /// The device key, freed with its last user.
    package final class Key: Sendable {
        package let key: SymmetricKey
        fileprivate init(_ key: consuming SymmetricKey) { self.key = key }
    }

    /// The name of the item with the device key in its own namespace of the Secret Service.
    private static let itemName = [UInt8](repeating: 0, count: 32)

    package let vaultID: VaultID
    private let held: Mutex<Key?>
    /// The key for the names of tokens, kept after its first use because every token operation needs it.
    private let names = Mutex<Key?>(nil)

    package init(vaultID: VaultID, deviceKey: consuming SymmetricKey) {
        self.vaultID = vaultID
        held = Mutex(Key(deviceKey))
    }

    /// The device key; throws `wiped` after ``destroyInMemory()``.
    package func deviceKey() throws(CofferError) -> Key {
        guard let key = held.withLock({ $0 }) else { throw CofferError.wiped }
        return key
    }

    /// Removes the device key from memory for good.
    package func destroyInMemory() {
        held.withLock { $0 = nil }
        names.withLock { $0 = nil }
    }

    /// The key under which the names of tokens are hashed.
    package func nameKey() throws(CofferError) -> Key {
        let device = try deviceKey()
        if let known = names.withLock({ $0 }) { return known }
        let context = vaultID.bytes
        let derived = Key(
            try HKDF.deriveKey(from: device.key, info: KDFLabel.tokenName, context: context.span))
        names.withLock { $0 = derived }
        // The device key was destroyed in the meantime: drop this key, too.
        guard held.withLock({ $0 != nil }) else {
            names.withLock { $0 = nil }
            throw CofferError.wiped
        }
        return derived
    }

    /// Generates and stores the device key of a new vault. Only the creation of a vault calls this; a key
    /// that cannot be read is never replaced.
    package static func create(
        vaultID: VaultID, backend: KeyringBackend, in vault: borrowing Descriptor,
        service: SecretServiceClient
    ) throws(CofferError) -> DeviceKey {
        let key = try SecretBytes.random(count: 32)
        switch backend {
        case .file:
            let copy = try key.exposing { (bytes) throws(CofferError) in try SecretBytes.copying(bytes) }
            try DeviceKeyFile(.file, vaultID: vaultID, key: copy).create(in: vault)
        case .secretService:
            let file = DeviceKeyFile(.secretService, vaultID: vaultID, key: try SecretBytes.random(count: 32))
            try storeInSecretService(key, sealedBy: file, to: service)
            try file.create(in: vault)
        }
        return DeviceKey(vaultID: vaultID, deviceKey: SymmetricKey.adopting(key))
    }

    /// Reads the device record, and the device key from the Secret Service if it is stored there.
    package static func read(
        in vault: borrowing Descriptor, service: SecretServiceClient
    ) throws(CofferError) -> DeviceKey {
        let file = try DeviceKeyFile.read(in: vault)
        let key = try deviceKey(of: file, service: service)
        return DeviceKey(vaultID: file.vaultID, deviceKey: SymmetricKey.adopting(key))
    }

    /// The bytes of the device key.
    package static func deviceKey(
        of file: borrowing DeviceKeyFile, service: SecretServiceClient
    ) throws(CofferError) -> SecretBytes {
        guard file.backend == .secretService else {
            return try file.key.exposing { (bytes) throws(CofferError) in try SecretBytes.copying(bytes) }
        }
        let keyring = try SecretServiceStorage(deviceKeyOf: file.vaultID, client: service)
        guard let sealed = try keyring.envelope(itemName) else {
            throw CofferError(
                .keyringUnavailable,
                "The Secret Service does not have this vault's device key. It may be another desktop "
                    + "keyring, or another user's. Nothing was changed.")
        }
        return try file.open(sealed)
    }

    /// Stores the device key in the Secret Service, sealed by `file`, and reads it back.
    package static func storeInSecretService(
        _ key: borrowing SecretBytes, sealedBy file: borrowing DeviceKeyFile, to service: SecretServiceClient
    ) throws(CofferError) {
        let keyring = try SecretServiceStorage(deviceKeyOf: file.vaultID, client: service)
        try keyring.put(file.seal(key), for: itemName)
    }

    /// Derives a key for one purpose of this vault from the device key alone.
    package func key(_ label: String) throws(CofferError) -> SymmetricKey {
        let context = vaultID.bytes
        return try HKDF.deriveKey(from: deviceKey().key, info: label, context: context.span)
    }
}
