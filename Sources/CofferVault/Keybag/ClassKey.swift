package import CofferBase
package import CofferCrypto
import CofferEngine
import Synchronization

/// The unwrapped key of one protection class, and the key-encryption key for tokens that is derived from it.
package final class ClassKey: Sendable {
    package let key: SymmetricKey
    package let id: [UInt8]
    package let generation: UInt32
    /// The key that wraps token keys.
    package let tokenKEK: SymmetricKey
    private let replaced: Mutex<ClassKey?>

    /// The key that this one replaces, while a key rotation is in progress; `nil` otherwise. Data may be
    /// sealed under either key, and new data is sealed under this one.
    package var former: ClassKey? {
        get { replaced.withLock { $0 } }
        set { replaced.withLock { $0 = newValue } }
    }

    package init(
        _ key: consuming SymmetricKey, id: [UInt8], generation: UInt32, vaultID: VaultID,
        former: ClassKey? = nil
    ) throws(CofferError) {
        let context = vaultID.bytes
        let tokenKEK = try HKDF.deriveKey(from: key, info: KDFLabel.tokenWrapping, context: context.span)
        self.key = key
        self.id = id
        self.generation = generation
        self.tokenKEK = tokenKEK
        replaced = Mutex(former)
    }

    /// Runs `body` with this key, and if that throws `notAuthentic`, runs it with the key that this one
    /// replaces, if there is one.
    package func withEitherKey<Result: ~Copyable>(
        _ body: (ClassKey) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        do throws(CofferError) {
            return try body(self)
        } catch {
            guard error.code == .notAuthentic, let former else { throw error }
            return try body(former)
        }
    }

    /// Generates the key that replaces this one.
    package func successor(vaultID: VaultID) throws(CofferError) -> ClassKey {
        guard generation < .max else {
            throw CofferError(.refused, "The keys of this vault were replaced too many times.")
        }
        return try ClassKey(
            SymmetricKey.random(), id: SecureRandom.bytes(16), generation: generation + 1, vaultID: vaultID,
            former: self)
    }

    /// Returns the key under which the replaced key is wrapped in the keybag.
    package func formerWrappingKey(vaultID: VaultID) throws(CofferError) -> SymmetricKey {
        let context = vaultID.bytes
        return try HKDF.deriveKey(from: key, info: KDFLabel.formerClassKey, context: context.span)
    }

    /// Generates a random key for each class.
    package static func make(
        for classes: [ProtectionClass], vaultID: VaultID
    ) throws(CofferError) -> [ProtectionClass: ClassKey] {
        var keys: [ProtectionClass: ClassKey] = [:]
        for protection in classes {
            keys[protection] = try ClassKey(
                SymmetricKey.random(), id: SecureRandom.bytes(16), generation: 1, vaultID: vaultID)
        }
        return keys
    }

    /// Derives the X25519 secret key that opens values that were sealed to this class while the vault was
    /// locked.
    package func enqueueKey(vaultID: VaultID) throws(CofferError) -> SymmetricKey {
        try Self.enqueueKey(of: key, vaultID: vaultID)
    }

    /// Returns the public key to which a locked vault seals new values of this class.
    package func publicKey(vaultID: VaultID) throws(CofferError) -> [UInt8] {
        try Self.publicKey(of: key, vaultID: vaultID)
    }

    /// Returns the public key that belongs to the class key `key` and identifies that key.
    package static func publicKey(
        of key: borrowing SymmetricKey, vaultID: VaultID
    ) throws(CofferError) -> [UInt8] {
        try SealedBox.publicKey(of: enqueueKey(of: key, vaultID: vaultID))
    }

    private static func enqueueKey(
        of key: borrowing SymmetricKey, vaultID: VaultID
    ) throws(CofferError) -> SymmetricKey {
        let context = vaultID.bytes
        return try HKDF.deriveKey(from: key, info: KDFLabel.classInbox, context: context.span)
    }
}
