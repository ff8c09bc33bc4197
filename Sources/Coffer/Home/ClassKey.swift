import CofferBase
import CofferCrypto

/// The unwrapped key of one protection class, with the two keys that stores derive from it.
final class ClassKey: Sendable {
    let key: SymmetricKey
    let id: [UInt8]
    let generation: UInt32
    /// Wraps the keys of tokens.
    let tokenKEK: SymmetricKey
    /// Wraps the inner keys of files.
    let fileKEK: SymmetricKey

    init(
        _ key: consuming SymmetricKey, id: [UInt8], generation: UInt32, vaultID: VaultID
    ) throws(CofferError) {
        let context = vaultID.bytes
        let tokenKEK = try HKDF.deriveKey(from: key, info: Label.tokenWrapping, context: context.span)
        let fileKEK = try HKDF.deriveKey(from: key, info: Label.fileInnerKEK, context: context.span)
        self.key = key
        self.id = id
        self.generation = generation
        self.tokenKEK = tokenKEK
        self.fileKEK = fileKEK
    }
}
