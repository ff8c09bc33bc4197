public import CofferBase
package import CofferCrypto
import CofferEngine

/// The values that are derived from a recovery key. All of them come from `R`, which HKDF derives from the
/// 160 bits; every further derivation is bound to the vault.
extension RecoveryKey {
    private func root() throws(CofferError) -> SymmetricKey {
        try HKDF.deriveKey(from: secret, info: KDFLabel.recovery)
    }

    private func derive(_ label: String, _ vaultID: VaultID) throws(CofferError) -> SymmetricKey {
        let context = vaultID.bytes
        return try HKDF.deriveKey(from: root(), info: label, context: context.span)
    }

    /// Returns the key that wraps a vault's class keys, for which the device key is needed, too.
    package func wrappingKey(device: DeviceKey) throws(CofferError) -> SymmetricKey {
        let context = device.vaultID.bytes
        return try HKDF.deriveKey(
            from: root(), and: device.deviceKey().key, info: KDFLabel.recoveryWrapping, context: context.span)
    }

    /// Returns the key that wraps a vault's device key.
    package func deviceWrappingKey(vaultID: VaultID) throws(CofferError) -> SymmetricKey {
        try derive(KDFLabel.recoveryDevice, vaultID)
    }

    /// Returns the X25519 secret key to whose public key a vault seals the wrapping key of class keys that
    /// are made without the recovery key.
    package func inboxKey(vaultID: VaultID) throws(CofferError) -> SymmetricKey {
        try derive(KDFLabel.recoveryInbox, vaultID)
    }

    /// Returns the 16-byte identifier of this key in a vault. It is not secret.
    package func identifier(vaultID: VaultID) throws(CofferError) -> [UInt8] {
        try derive(KDFLabel.recoveryIdentifier, vaultID).withSpan { $0.extracting(..<16).copied() }
    }

    /// Returns the number by which people tell a vault's recovery keys apart, such as `3F2A-90C1`. The number
    /// is not secret; ``RecoveryKeyStatus/number`` is that of the vault's current key.
    ///
    /// - Parameter vaultID: The vault.
    /// - Returns: Eight hexadecimal digits with a dash.
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public func number(in vaultID: VaultID) throws(CofferError) -> String {
        Self.number(of: try identifier(vaultID: vaultID))
    }

    package static func number(of identifier: [UInt8]) -> String {
        // In upper case: bit 5 of a letter off.
        let digits = HexText.encode(Array(identifier.prefix(4))).utf8.map { $0 > 0x60 ? $0 & 0xDF : $0 }
        return String(decoding: digits.prefix(4) + [UInt8(ascii: "-")] + digits.suffix(4), as: UTF8.self)
    }
}
