package import CofferBase
import CofferEngine

/// The encryption of secrets between the Secret Service and its clients, by the algorithm
/// `dh-ietf1024-sha256-aes128-cbc-pkcs7` of the Secret Service specification.
///
/// It keeps a secret out of the messages that a monitor of the bus sees, and no more: neither side knows who
/// the other is, nothing is authenticated, and the group of 1024 bits (RFC 2409 section 6.2) is small. The
/// key is derived from the shared value, which is padded to 128 bytes, by HKDF with SHA-256 (RFC 5869),
/// without a salt and without context.
package final class SecretTransport: Sendable {
    /// The size in bytes of a public value.
    package static let valueSize = DHGroup2Binding.size
    /// The size in bytes of an IV.
    package static let ivSize = 16

    private let key: SymmetricKey

    private init(_ key: consuming SymmetricKey) { self.key = key }

    /// Agrees on a key with the peer that sent `peer`, with a new random exponent.
    ///
    /// - Returns: The transport, and the public value of 128 bytes for the peer.
    /// - Throws: `invalidInput` unless the peer's value is in the group's range and has at most 128 bytes.
    package static func agree(
        with peer: Span<UInt8>
    ) throws(CofferError) -> (transport: SecretTransport, publicValue: [UInt8]) {
        try agree(with: peer, exponent: SecretBytes.random(count: valueSize))
    }

    /// Agrees on a key with the given exponent, which a test chooses.
    package static func agree(
        with peer: Span<UInt8>, exponent: borrowing SecretBytes
    ) throws(CofferError) -> (transport: SecretTransport, publicValue: [UInt8]) {
        var own = [UInt8](repeating: 0, count: valueSize)
        var span = own.mutableSpan
        try DHGroup2Binding.publicValue(exponent.guarded.span, into: &span)
        let shared = try GuardedBytes.filled(count: valueSize) { (output) throws(CofferError) in
            try DHGroup2Binding.sharedValue(peer, exponent.guarded.span, into: &output)
        }
        let none = [UInt8]()
        let key = try HKDF.derive(from: SymmetricKey(shared), info: none.span, count: 16)
        return (SecretTransport(SymmetricKey.adopting(key)), own)
    }

    /// Encrypts a secret under a new random IV.
    package func seal(_ secret: Span<UInt8>) throws(CofferError) -> (iv: [UInt8], ciphertext: [UInt8]) {
        let iv = try SecureRandom.bytes(Self.ivSize)
        return (iv, try CBC.seal(secret, iv: iv.span, key: key))
    }

    /// Decrypts a secret.
    ///
    /// - Throws: `notAuthentic` if the length or the padding is invalid; `invalidInput` if the IV does not
    ///   have 16 bytes.
    package func open(_ ciphertext: Span<UInt8>, iv: Span<UInt8>) throws(CofferError) -> SecretBytes {
        try CBC.open(ciphertext, iv: iv, key: key)
    }
}
