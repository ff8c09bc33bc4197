import CofferBase
import CofferEngine

/// The stanzas for X25519 recipients.
enum AgeX25519 {
    static let type = "X25519"

    /// Returns the stanza from which the recipient's identity unwraps the file key.
    static func wrap(
        _ key: borrowing AgeFileKey, to recipient: AgeRecipient
    ) throws(CofferError) -> AgeStanza {
        let ephemeral = try AgeIdentity.generate()
        let share = ephemeral.recipient.publicKey
        let wrappingKey = try Self.wrappingKey(
            try ephemeral.sharedSecret(with: recipient.publicKey), share, recipient)
        let text = try Encoding.base64TextUnpadded(share)
        return AgeStanza([Array(type.utf8), text], body: try key.wrapped(under: wrappingKey))
    }

    /// Returns the file key if the stanza is for `identity`, otherwise `nil`. `share` is the stanza's own.
    static func unwrap(
        _ stanza: AgeStanza, share: [UInt8], with identity: AgeIdentity
    ) throws(CofferError) -> AgeFileKey? {
        let shared: SymmetricKey
        do throws(CofferError) {
            shared = try identity.sharedSecret(with: share)
        } catch {
            throw error.code == .invalidInput ? AgeHeader.corruptError : error
        }
        return try AgeFileKey.unwrap(
            stanza.body, under: try wrappingKey(shared, share, identity.recipient))
    }

    /// Returns the ephemeral public key in the stanza. Throws `corrupt` if the stanza is not valid.
    static func share(of stanza: AgeStanza) throws(CofferError) -> [UInt8] {
        guard stanza.arguments.count == 2, stanza.body.count == AgeFileKey.wrappedSize,
            let share = try? Encoding.decodeBase64Text(stanza.arguments[1], isPadded: false),
            share.count == X25519Binding.keySize
        else { throw AgeHeader.corruptError }
        return share
    }

    private static func wrappingKey(
        _ shared: borrowing SymmetricKey, _ share: [UInt8], _ recipient: AgeRecipient
    ) throws(CofferError) -> SymmetricKey {
        let salt = share + recipient.publicKey
        let label = Array(AgeLabel.x25519.utf8)
        return SymmetricKey.adopting(
            try HKDF.derive(from: shared, salt: salt.span, info: label.span, count: 32))
    }
}
