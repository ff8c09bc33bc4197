public import CofferBase
import CofferEngine

/// AES-GMAC (NIST SP 800-38D): message authentication with AES-GCM and an empty plaintext.
///
/// Use GMAC only for protocols that prescribe it, and ``HMAC`` otherwise. The key has 16, 24 or 32 bytes, the
/// nonce has 12, and the tag has 16. Never reuse a nonce under one key, in GMAC or in GCM: two tags under one
/// nonce reveal enough to forge other tags.
public enum GMAC {
    /// The tag's size in bytes.
    public static let tagSize = AEADCipher.tagSize
    /// The nonce's size in bytes.
    public static let nonceSize = AEADCipher.nonceSize

    /// Returns the tag for `message`.
    ///
    /// - Throws: `invalidInput` if the key or the nonce has the wrong size.
    public static func authenticate(
        _ message: Span<UInt8>, nonce: Span<UInt8>, key: borrowing SymmetricKey
    ) throws(CofferError) -> [UInt8] {
        var cipher = try cipher(key)
        var tag = [UInt8](repeating: 0, count: tagSize)
        var span = tag.mutableSpan
        try cipher.seal(Span(), nonce: nonce, associatedData: message, into: &span)
        return tag
    }

    /// Returns whether `tag` is the full tag for `message`, comparing the tags in constant time.
    ///
    /// - Throws: `invalidInput` if the key or the nonce has the wrong size.
    public static func isValid(
        _ tag: Span<UInt8>, for message: Span<UInt8>, nonce: Span<UInt8>, key: borrowing SymmetricKey
    ) throws(CofferError) -> Bool {
        let expected = try authenticate(message, nonce: nonce, key: key)
        return ConstantTime.equal(expected.span, tag)
    }

    private static func cipher(_ key: borrowing SymmetricKey) throws(CofferError) -> AEADCipher {
        switch key.count {
        case 16: try AEADCipher.make(.aes128GCM, key: key.secret.span)
        case 24: try AEADCipher.make(.aes192GCM, key: key.secret.span)
        case 32: try AEADCipher.make(.aes256GCM, key: key.secret.span)
        default: throw CofferError.wrongKeySize(key.count)
        }
    }
}
