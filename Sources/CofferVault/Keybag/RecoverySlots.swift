package import CofferBase
import CofferCrypto

/// The part of a keybag that describes its recovery slots: the class keys that a recovery key opens.
///
/// A recovery key that is set wraps the class keys itself. When class keys are replaced later, without the
/// recovery key, the new ones are wrapped under a random key that is sealed to the recovery key's public key.
/// A key that stayed in the keybag for this purpose would not do: anyone who once opened an old copy of the
/// keybag could open the new class keys with it.
///
/// Layout (136 bytes): time of creation in seconds (8), identifier (16), public key (32), sealed wrapping key
/// (80; zeros if the recovery key itself wraps the class keys).
package struct RecoverySlots: Equatable {
    private static let sealedKeySize = 32 + SealedBox.overhead
    private static let none = [UInt8](repeating: 0, count: sealedKeySize)

    /// The time at which the recovery key was set, in seconds since 1970.
    package let created: UInt64
    /// The recovery key's ``RecoveryKey/identifier(vaultID:)``.
    package let identifier: [UInt8]
    /// Whether the vault's ``RecoveryRecord`` has a copy of the device key for this recovery key.
    package let hasDeviceKey: Bool
    let publicKey: [UInt8]
    /// The wrapping key, sealed to the public key; `nil` if the recovery key itself wraps the class keys.
    var sealedKey: [UInt8]?

    /// Creates the description of slots under `key`.
    package init(
        _ key: RecoveryKey, created: UInt64, hasDeviceKey: Bool, vaultID: VaultID
    ) throws(CofferError) {
        self.created = created
        self.hasDeviceKey = hasDeviceKey
        identifier = try key.identifier(vaultID: vaultID)
        publicKey = try SealedBox.publicKey(of: key.inboxKey(vaultID: vaultID))
    }

    init(from reader: inout BinaryReader, hasDeviceKey: Bool) throws(CofferError) {
        self.hasDeviceKey = hasDeviceKey
        created = try reader.number(UInt64.self)
        identifier = try reader.take(16)
        publicKey = try reader.take(SealedBox.keySize)
        let sealed = try reader.take(Self.sealedKeySize)
        sealedKey = sealed == Self.none ? nil : sealed
    }

    func encode(to writer: inout BinaryWriter) {
        writer.append(created)
        writer.append(identifier)
        writer.append(publicKey)
        writer.append(sealedKey ?? Self.none)
    }

    /// Seals a new random wrapping key to the recovery key's public key, and returns the key under which the
    /// slots are wrapped.
    mutating func replaceKey(device: DeviceKey) throws(CofferError) -> SymmetricKey {
        let random = try SecretBytes.random(count: 32)
        sealedKey = try random.exposing { (bytes) throws(CofferError) in
            try SealedBox.seal(bytes, to: publicKey.span)
        }
        return try Self.wrappingKey(SymmetricKey.adopting(random), device)
    }

    /// Returns the key under which the slots are wrapped.
    ///
    /// - Throws: `notAuthentic` if `key` is another recovery key.
    func wrappingKey(_ key: RecoveryKey, device: DeviceKey) throws(CofferError) -> SymmetricKey {
        guard let sealedKey else { return try key.wrappingKey(device: device) }
        let opened = try SealedBox.open(sealedKey.span, secretKey: key.inboxKey(vaultID: device.vaultID))
        return try Self.wrappingKey(SymmetricKey.adopting(opened), device)
    }

    private static func wrappingKey(
        _ random: consuming SymmetricKey, _ device: DeviceKey
    ) throws(CofferError) -> SymmetricKey {
        let context = device.vaultID.bytes
        return try HKDF.deriveKey(
            from: random, and: device.deviceKey().key, info: KDFLabel.recoveryRewrapping,
            context: context.span)
    }
}
