package import CofferBase
import CofferCrypto

/// The two generations of class keys that a keybag has during a key rotation. They are the rotation's
/// journal: as long as a replaced key is in the keybag, the rotation has to go on.
extension Keybag {
    /// Whether a key rotation is in progress.
    package var isRotating: Bool { !former.isEmpty }

    /// Returns the key that `classKey` replaces, if a rotation of the class is in progress.
    package func formerKey(
        of classKey: ClassKey, _ protection: ProtectionClass, vaultID: VaultID
    ) throws(CofferError) -> ClassKey? {
        guard let wrapped = former[protection] else { return nil }
        let context = Self.context(protection, vaultID: vaultID)
        let key = try wrapped.unwrap(
            under: classKey.formerWrappingKey(vaultID: vaultID), context: context.span)
        return try ClassKey(key, id: wrapped.id, generation: wrapped.generation, vaultID: vaultID)
    }

    /// Records the keys that `keys` replace.
    package mutating func keepFormer(
        of keys: [ProtectionClass: ClassKey], vaultID: VaultID
    ) throws(CofferError) {
        for (protection, key) in keys {
            guard let replaced = key.former else { continue }
            let context = Self.context(protection, vaultID: vaultID)
            former[protection] = try WrappedKey.wrap(
                replaced.key, under: key.formerWrappingKey(vaultID: vaultID), id: replaced.id,
                generation: replaced.generation, context: context.span)
        }
    }
}
