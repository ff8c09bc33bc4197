public import CofferBase
import CofferCrypto

/// Bytes that have the form of an order and that nobody has vouched for yet.
///
/// ``Vault/verify(_:)`` makes a ``VerifiedCommand`` of it, or refuses. What is read here may be shown to
/// a person and must not be acted on.
public struct SignedCommand: Sendable, Hashable {
    /// The longest order in bytes.
    public static let maxByteCount = OrderEncoding.maxByteCount

    /// What the bytes say.
    public let content: RemoteCommand
    /// Whose signature they say to bear.
    public let claimedSigner: AdministratorKey
    /// SHA-256 of all the bytes, in hexadecimal: what a receipt names the order by.
    public let digest: String
    /// All of them.
    let bytes: [UInt8]

    /// Reads an order.
    ///
    /// - Parameter bytes: All of it, with the signature.
    /// - Returns: The order, unverified.
    /// - Throws: `orderTooLong`, `orderUnsupportedVersion`, `orderMalformed`.
    public static func read(_ bytes: [UInt8]) throws(CofferError) -> SignedCommand {
        guard bytes.count <= maxByteCount else {
            throw CofferError(
                .orderTooLong, "An order has at most \(maxByteCount) bytes; this has \(bytes.count).")
        }
        guard bytes.starts(with: Array(FileMagic.order.utf8)), bytes.count > OrderEncoding.headerSize else {
            throw malformed
        }
        let version = bytes.span.bigEndian(UInt16.self, at: 8)
        guard version <= OrderEncoding.version else {
            throw CofferError(.orderUnsupportedVersion, "The order was made by a newer release.")
        }
        guard version == OrderEncoding.version, bytes.count > Ed25519.signatureSize else { throw malformed }
        do throws(CofferError) {
            let body = Array(bytes.dropLast(Ed25519.signatureSize))
            let (order, signer) = try OrderEncoding.decode(body)
            return SignedCommand(
                content: order, claimedSigner: signer,
                digest: HexText.encode(try Digest.sha256.hash(bytes.span)), bytes: bytes)
        } catch {
            guard error.code == .corrupt else { throw error }
            throw malformed
        }
    }

    /// What bytes are refused with that are no order; whatever else ``read(_:)`` throws says nothing of them.
    static let refusals: Set<CofferError.Code> = [.orderTooLong, .orderUnsupportedVersion, .orderMalformed]

    private static var malformed: CofferError {
        CofferError(.orderMalformed, "These bytes are no order, or it is damaged.")
    }

    /// Whether the signature is that of the claimed signer over everything before it.
    func hasValidSignature() throws(CofferError) -> Bool {
        let end = bytes.count - Ed25519.signatureSize
        return try Ed25519.isValid(
            signature: bytes.span.extracting(end...), for: bytes.span.extracting(..<end),
            publicKey: claimedSigner.bytes.span)
    }
}
