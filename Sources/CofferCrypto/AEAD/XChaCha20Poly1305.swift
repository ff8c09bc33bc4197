public import CofferBase
import CofferEngine

/// XChaCha20-Poly1305 for single messages, each under a new random 24-byte nonce.
///
/// Format: nonce (24) ‖ ciphertext ‖ tag (16). Nonces of this size can be generated at random without a limit
/// on the number of messages. Source: draft-irtf-cfrg-xchacha-03. For many messages under one key, and for
/// other algorithms, use ``AEAD``.
public enum XChaCha20Poly1305 {
    /// The number of bytes by which a sealed message is longer than the plaintext.
    public static let overhead = XChaChaBinding.nonceSize + XChaChaBinding.tagSize

    /// Seals `plaintext` under a 32-byte key and a new random nonce.
    ///
    /// - Throws: `invalidInput` if the key is not 32 bytes long.
    public static func seal(
        _ plaintext: Span<UInt8>, key: borrowing SymmetricKey, associatedData: Span<UInt8> = Span()
    ) throws(CofferError) -> [UInt8] {
        let nonce = try SecureRandom.bytes(XChaChaBinding.nonceSize)
        var sealed = [UInt8](repeating: 0, count: plaintext.count + overhead)
        var span = sealed.mutableSpan
        span.write(nonce.span, at: 0)
        var body = span._mutatingExtracting(nonce.count...)
        try XChaChaBinding.seal(
            plaintext, key: key.secret.span, nonce: nonce.span, associatedData: associatedData, into: &body)
        return sealed
    }

    /// Opens a sealed message into guarded memory.
    ///
    /// - Throws: `notAuthentic` unless the message was sealed under this key with this associated data.
    public static func open(
        _ sealed: Span<UInt8>, key: borrowing SymmetricKey, associatedData: Span<UInt8> = Span()
    ) throws(CofferError) -> SecretBytes {
        guard sealed.count >= overhead else { throw CofferError.notAuthentic }
        var plaintext = try GuardedBytes.zeroed(count: sealed.count - overhead)
        var span = plaintext.mutableSpan
        try open(sealed, key: key, associatedData: associatedData, into: &span)
        return SecretBytes(plaintext)
    }

    /// Opens a sealed message whose content does not require guarded memory, such as a list of names, into an
    /// array.
    ///
    /// - Throws: `notAuthentic` unless the message was sealed under this key with this associated data.
    public static func openToArray(
        _ sealed: Span<UInt8>, key: borrowing SymmetricKey, associatedData: Span<UInt8> = Span()
    ) throws(CofferError) -> [UInt8] {
        guard sealed.count >= overhead else { throw CofferError.notAuthentic }
        var plaintext = [UInt8](repeating: 0, count: sealed.count - overhead)
        var span = plaintext.mutableSpan
        try open(sealed, key: key, associatedData: associatedData, into: &span)
        return plaintext
    }

    private static func open(
        _ sealed: Span<UInt8>, key: borrowing SymmetricKey, associatedData: Span<UInt8>,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        let nonceSize = XChaChaBinding.nonceSize
        try XChaChaBinding.open(
            sealed.extracting(nonceSize...), key: key.secret.span, nonce: sealed.extracting(..<nonceSize),
            associatedData: associatedData, into: &output)
    }
}
