package import CofferBase
package import CofferCrypto
package import CofferEngine
import Synchronization
import SystemPackage

/// A vault's identifier and its device key, which is read from the backend that the vault's ``DeviceKeyFile``
/// specifies.
package final class DeviceKey: Sendable {
    /// A key that several owners share and that is cleared when the last of them is released.
    package final class Key: Sendable {
        package let key: SymmetricKey
        fileprivate init(_ key: consuming SymmetricKey) { self.key = key }
    }

    /// The name of the device key's item in its Secret Service namespace.
    private static let itemName = [UInt8](repeating: 0, count: 32)

    package let vaultID: VaultID
    private let held: Mutex<Key?>
    /// The key under which token names are hashed, cached because every token operation needs it.
    private let names = Mutex<Key?>(nil)

    package init(vaultID: VaultID, deviceKey: consuming SymmetricKey) {
        self.vaultID = vaultID
        held = Mutex(Key(deviceKey))
    }

    /// Returns the device key; throws `wiped` after ``destroyInMemory()``.
    package func deviceKey() throws(CofferError) -> Key {
        guard let key = held.withLock({ $0 }) else { throw CofferError.wiped }
        return key
    }

    /// Permanently removes the device key from this object. The key's memory is cleared when its last owner
    /// releases the key.
    package func destroyInMemory() {
        held.withLock { $0 = nil }
        names.withLock { $0 = nil }
    }

    /// Returns the key under which token names are hashed; throws `wiped` after ``destroyInMemory()``.
    package func nameKey() throws(CofferError) -> Key {
        let device = try deviceKey()
        if let known = names.withLock({ $0 }) { return known }
        let context = vaultID.bytes
        let derived = Key(
            try HKDF.deriveKey(from: device.key, info: KDFLabel.tokenName, context: context.span))
        names.withLock { $0 = derived }
        // If the device key was destroyed in the meantime, remove this key, too.
        guard held.withLock({ $0 != nil }) else {
            names.withLock { $0 = nil }
            throw CofferError.wiped
        }
        return derived
    }

    /// Generates and stores a new vault's device key. Only vault creation calls this function, because a key
    /// that cannot be read must never be replaced.
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

    /// Reads the device record and, if the Secret Service stores the device key, reads the key from that
    /// service.
    package static func read(
        in vault: borrowing Descriptor, service: SecretServiceClient
    ) throws(CofferError) -> DeviceKey {
        let file = try DeviceKeyFile.read(in: vault)
        let key = try deviceKey(of: file, service: service)
        return DeviceKey(vaultID: file.vaultID, deviceKey: SymmetricKey.adopting(key))
    }

    /// Returns the device key's bytes from the backend that `file` specifies.
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
                "This vault's device key was not found in the Secret Service. The current "
                    + "desktop keyring may be a different one or may belong to another user.",
                remedy: .useRecoveryKey)
        }
        return try file.open(sealed)
    }

    /// Stores the device key in the Secret Service, sealed under the key in `file`, and reads the stored item
    /// back to verify it.
    package static func storeInSecretService(
        _ key: borrowing SecretBytes, sealedBy file: borrowing DeviceKeyFile, to service: SecretServiceClient
    ) throws(CofferError) {
        let keyring = try SecretServiceStorage(deviceKeyOf: file.vaultID, client: service)
        try keyring.put(file.seal(key), for: itemName)
    }

    /// Derives a key from the device key alone, for the purpose `label` in this vault.
    package func key(_ label: String) throws(CofferError) -> SymmetricKey {
        let context = vaultID.bytes
        return try HKDF.deriveKey(from: deviceKey().key, info: label, context: context.span)
    }
}
