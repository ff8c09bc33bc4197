public import CofferBase
import CofferCrypto
import CofferVault
import FoundationEssentials

/// A signed command that has not been verified.
///
/// The contents may be shown to a user, but must not be acted on. To verify the command, call
/// ``Vault/verify(_:)``, which returns a ``VerifiedCommand`` or throws a refusal.
public struct SignedCommand: Sendable, Hashable {
    /// The maximum size of a command in bytes.
    public static let maxByteCount = CommandEncoding.maxByteCount

    /// The command's decoded contents.
    public let content: RemoteCommand
    /// The key with which the command claims to be signed.
    public let claimedSigner: AdministratorKey
    /// The SHA-256 digest of all the command's bytes, in hexadecimal, by which a receipt identifies the
    /// command.
    public let digest: String
    /// All of the command's bytes.
    let bytes: [UInt8]

    /// Reads a signed command without verifying it.
    ///
    /// - Parameter bytes: All of the command's bytes, including the signature.
    /// - Returns: The unverified command.
    /// - Throws: `orderTooLong` if there are more than ``maxByteCount`` bytes; `orderUnsupportedVersion` if a
    ///   newer release created the command; `orderMalformed` if the bytes are not a signed command or are
    ///   damaged.
    public static func read(_ bytes: [UInt8]) throws(CofferError) -> SignedCommand {
        guard bytes.count <= maxByteCount else {
            throw CofferError(
                .orderTooLong, "A command must be at most \(maxByteCount) bytes long, not \(bytes.count).")
        }
        guard bytes.starts(with: Array(FileMagic.order.utf8)), bytes.count > CommandEncoding.headerSize else {
            throw malformed
        }
        let version = bytes.span.bigEndian(UInt16.self, at: 8)
        guard version <= CommandEncoding.version else {
            throw CofferError(
                .orderUnsupportedVersion, "The command was created by a newer release. Use that release.")
        }
        guard version == CommandEncoding.version, bytes.count > Ed25519.signatureSize else { throw malformed }
        do throws(CofferError) {
            let body = Array(bytes.dropLast(Ed25519.signatureSize))
            let (order, signer) = try CommandEncoding.decode(body)
            return SignedCommand(
                content: order, claimedSigner: signer,
                digest: HexText.encode(try Digest.sha256.hash(bytes.span)), bytes: bytes)
        } catch {
            guard error.code == .corrupt else { throw error }
            throw malformed
        }
    }

    /// The errors for bytes that are not a command. Other errors from ``read(_:)`` say nothing about the
    /// bytes.
    static let refusals: Set<CofferError.Code> = [.orderTooLong, .orderUnsupportedVersion, .orderMalformed]

    private static var malformed: CofferError {
        CofferError(.orderMalformed, "The input is not a signed command, or the command is damaged.")
    }
}

extension SignedCommand: SignedDocument {
    static var noun: String { "command" }
    var target: RemoteCommand.Target { content.target }
    var counter: UInt64 { content.counter }
    var issued: Date { content.issued }
    var expires: Date { content.expires }
}
