import CofferBase
import CofferCrypto
import FoundationEssentials

/// Something that an administrator signed for a vault: a command or a policy.
protocol SignedDocument {
    /// The word for the kind of document, for messages.
    static var noun: String { get }
    /// The key with which the document claims to be signed.
    var claimedSigner: AdministratorKey { get }
    var target: RemoteCommand.Target { get }
    var counter: UInt64 { get }
    var issued: Date { get }
    var expires: Date { get }
    /// All of the document's bytes, of which the last 64 are the signature.
    var bytes: [UInt8] { get }
}

extension SignedDocument {
    /// Returns whether the signature over all preceding bytes is the claimed signer's.
    func hasValidSignature() throws(CofferError) -> Bool {
        let end = bytes.count - Ed25519.signatureSize
        return try Ed25519.isValid(
            signature: bytes.span.extracting(end...), for: bytes.span.extracting(..<end),
            publicKey: claimedSigner.bytes.span)
    }
}
