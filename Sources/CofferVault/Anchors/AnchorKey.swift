package import CofferBase
import CofferCrypto
import CofferEngine

/// A vault's number in the kernel's user keyring, where it stays until the next reboot.
///
/// The key's content: number (8) and an HMAC-SHA256 over it (32).
package struct AnchorKey {
    private let device: DeviceKey

    package init(device: DeviceKey) { self.device = device }

    /// The key's description. It differs from those of class keys, which a lock removes.
    package static func name(_ vaultID: VaultID) -> String { "coffer-anchor:\(vaultID)" }

    /// Returns the number in the kernel keyring; `nil` if there is none.
    ///
    /// - Throws: `corrupt` if the key is not this vault's; `unsupported` or `permissionDenied` without a
    ///   keyring.
    package func number() throws(CofferError) -> UInt64? {
        guard let content = try KernelKeyring.read(Self.name(device.vaultID)) else { return nil }
        let bytes = content.span.copied()
        let key = try device.key(KDFLabel.anchorKeyring)
        guard bytes.count == 40,
            try HMAC.isValid(bytes.span.extracting(8...), for: bytes.span.extracting(..<8), key: key)
        else {
            throw CofferError(.corrupt, "The anchor in the kernel keyring is damaged.")
        }
        return bytes.span.bigEndian(UInt64.self, at: 0)
    }

    /// Stores a number, which replaces any other one.
    package func set(to number: UInt64) throws(CofferError) {
        let bytes = number.bigEndianBytes
        let tag = try HMAC.authenticate(bytes.span, key: device.key(KDFLabel.anchorKeyring))
        let content = try GuardedBytes.copying((bytes + tag).span)
        try KernelKeyring.store(content, description: Self.name(device.vaultID), timeout: nil)
    }

    /// Removes the number of a vault from the kernel keyring.
    package static func remove(_ vaultID: VaultID) throws(CofferError) {
        try KernelKeyring.remove(name(vaultID))
    }
}
