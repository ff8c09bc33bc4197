import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage
import Synchronization

/// The vault's identity and its device key D, from where the home says that it is: see ``DeviceKeyFile``.
final class DeviceKey: Sendable {
    /// The device key, released with its last user.
    final class Key: Sendable {
        let key: SymmetricKey
        fileprivate init(_ key: consuming SymmetricKey) { self.key = key }
    }

    /// What the item with the device key is called in its keyring of one.
    private static let itemName = [UInt8](repeating: 0, count: 32)

    let vaultID: VaultID
    private let held: Mutex<Key?>
    /// The key of the names of tokens, once it was asked for: every look at a token needs it.
    private let names = Mutex<Key?>(nil)

    init(vaultID: VaultID, deviceKey: consuming SymmetricKey) {
        self.vaultID = vaultID
        held = Mutex(Key(deviceKey))
    }

    /// The device key; `wiped` once it was forgotten.
    func deviceKey() throws(CofferError) -> Key {
        guard let key = held.withLock({ $0 }) else { throw CofferError.wiped }
        return key
    }

    /// Drops the device key from memory for good.
    func destroyInMemory() {
        held.withLock { $0 = nil }
        names.withLock { $0 = nil }
    }

    /// What the names of tokens are hashed under.
    func nameKey() throws(CofferError) -> Key {
        let device = try deviceKey()
        if let known = names.withLock({ $0 }) { return known }
        let context = vaultID.bytes
        let derived = Key(
            try HKDF.deriveKey(from: device.key, info: KDFLabel.tokenName, context: context.span))
        names.withLock { $0 = derived }
        // Forgotten meanwhile: then this one too.
        guard held.withLock({ $0 != nil }) else {
            names.withLock { $0 = nil }
            throw CofferError.wiped
        }
        return derived
    }

    /// Makes a new identity and key. Only `init` of a home calls this: a key that cannot be read is never
    /// replaced.
    static func create(
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

    /// Reads the record, and the device key from the Secret Service where that has it.
    static func read(
        in vault: borrowing Descriptor, service: SecretServiceClient
    ) throws(CofferError) -> DeviceKey {
        let file = try DeviceKeyFile.read(in: vault)
        let key = try deviceKey(of: file, service: service)
        return DeviceKey(vaultID: file.vaultID, deviceKey: SymmetricKey.adopting(key))
    }

    /// The bytes of the device key.
    static func deviceKey(
        of file: borrowing DeviceKeyFile, service: SecretServiceClient
    ) throws(CofferError) -> SecretBytes {
        guard file.backend == .secretService else {
            return try file.key.exposing { (bytes) throws(CofferError) in try SecretBytes.copying(bytes) }
        }
        let keyring = try SecretServiceStorage(deviceKeyOf: file.vaultID, client: service)
        guard let sealed = try keyring.envelope(itemName) else {
            throw CofferError(
                .keyringUnavailable,
                "The Secret Service that answers does not have this vault's device key: is it another "
                    + "keyring, or another user's? Nothing was changed.")
        }
        return try file.open(sealed)
    }

    /// Puts the device key into the Secret Service, sealed by `file`, and reads it back.
    static func storeInSecretService(
        _ key: borrowing SecretBytes, sealedBy file: borrowing DeviceKeyFile, to service: SecretServiceClient
    ) throws(CofferError) {
        let keyring = try SecretServiceStorage(deviceKeyOf: file.vaultID, client: service)
        try keyring.put(file.seal(key), for: itemName)
    }

    /// A key for one purpose of this vault, from the device key alone.
    func key(_ label: String) throws(CofferError) -> SymmetricKey {
        let context = vaultID.bytes
        return try HKDF.deriveKey(from: deviceKey().key, info: label, context: context.span)
    }
}
