package import CofferBase
package import CofferCrypto
import CofferEngine

/// The unwrapped key of one protection class, and the key-encryption key for tokens that is derived from it.
package final class ClassKey: Sendable {
    package let key: SymmetricKey
    package let id: [UInt8]
    package let generation: UInt32
    /// The key that wraps token keys.
    package let tokenKEK: SymmetricKey

    package init(
        _ key: consuming SymmetricKey, id: [UInt8], generation: UInt32, vaultID: VaultID
    ) throws(CofferError) {
        let context = vaultID.bytes
        let tokenKEK = try HKDF.deriveKey(from: key, info: KDFLabel.tokenWrapping, context: context.span)
        self.key = key
        self.id = id
        self.generation = generation
        self.tokenKEK = tokenKEK
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
