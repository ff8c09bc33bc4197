public import CofferBase
import CofferCrypto
import CofferEngine

/// A statement of a vault's number that is kept elsewhere, such as on paper. It is not secret.
///
/// Text: `coffer1-`, the vault's id (32 hexadecimal digits), the number in decimal, and the first 16 bytes of
/// an HMAC-SHA256 over the number (32 hexadecimal digits), with a dash between them.
public struct AnchorReceipt: Sendable, Equatable {
    private static let prefix = "coffer1"
    private static let tagSize = 16

    /// The identity of the vault.
    public let vaultID: VaultID
    /// The vault's number when the receipt was made.
    public let number: UInt64
    private let tag: [UInt8]

    package init(number: UInt64, device: DeviceKey) throws(CofferError) {
        vaultID = device.vaultID
        self.number = number
        tag = try Self.tag(number, device)
    }

    /// Reads a receipt. Case does not matter.
    ///
    /// - Parameter text: The receipt's text.
    /// - Throws: `invalidInput` if the text is not that of a receipt.
    public init(_ text: String) throws(CofferError) {
        let parts = text.foldedASCII.parts(between: "-")
        guard parts.count == 4, parts[0].hasSameBytes(as: Self.prefix),
            let id = HexText.decode(parts[1]), let vaultID = VaultID(bytes: id),
            let number = UInt64(parts[2]), let tag = HexText.decode(parts[3]),
            tag.count == Self.tagSize
        else {
            throw CofferError(.invalidInput, "This is not the text of a receipt, which begins with coffer1-.")
        }
        (self.vaultID, self.number, self.tag) = (vaultID, number, tag)
    }

    /// The receipt's text: 84 to 103 characters.
    public var text: String {
        [
            Self.prefix, HexText.encode(vaultID.bytes), String(number), HexText.encode(tag),
        ].joined(separator: "-")
    }

    /// Throws unless the vault with this device key made the receipt.
    package func verify(_ device: DeviceKey) throws(CofferError) {
        guard vaultID == device.vaultID else {
            throw CofferError(.foreign, "The receipt belongs to another vault.")
        }
        let expected = try Self.tag(number, device)
        guard ConstantTime.equal(expected.span, tag.span) else {
            throw CofferError(.notAuthentic, "The receipt was mistyped, or this vault did not make it.")
        }
    }

    private static func tag(_ number: UInt64, _ device: DeviceKey) throws(CofferError) -> [UInt8] {
        let bytes = number.bigEndianBytes
        let tag = try HMAC.authenticate(bytes.span, key: device.key(KDFLabel.anchorReceipt))
        return Array(tag.prefix(tagSize))
    }
}
