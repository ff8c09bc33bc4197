public import CofferBase
import CofferEngine

/// AES in CBC mode with PKCS#5 padding, without authentication, for reading and writing documented formats.
///
/// **Not authenticated**: an attacker who can change the ciphertext can change the plaintext, and an attacker
/// who can observe whether the padding was valid can decrypt the ciphertext. Use ``AuthenticatedCBC`` or
/// ``AEAD`` for new data. Sources: NIST SP 800-38A section 6.2, RFC 8018 section 6.1.1.
public enum CBC {
    /// Encrypts `plaintext` under a key of 16, 24 or 32 bytes and an IV of 16 bytes, and returns only the
    /// ciphertext.
    ///
    /// - Throws: `invalidInput` if the key or the IV has the wrong size.
    public static func seal(
        _ plaintext: Span<UInt8>, iv: Span<UInt8>, key: borrowing SymmetricKey
    ) throws(CofferError) -> [UInt8] {
        var cipher = try CBCCipher.make(key: key.secret.span, encrypting: true)
        var ciphertext = [UInt8](repeating: 0, count: CBCCipher.ciphertextSize(plaintext.count))
        var span = ciphertext.mutableSpan
        _ = try cipher.transform(plaintext, iv: iv, into: &span)
        return ciphertext
    }

    /// Decrypts `ciphertext` into guarded memory.
    ///
    /// - Throws: `notAuthentic` if the length or the padding is invalid; `invalidInput` if the key or the IV
    ///   has the wrong size.
    public static func open(
        _ ciphertext: Span<UInt8>, iv: Span<UInt8>, key: borrowing SymmetricKey
    ) throws(CofferError) -> SecretBytes {
        var cipher = try CBCCipher.make(key: key.secret.span, encrypting: false)
        var padded = try GuardedBytes.zeroed(count: ciphertext.count)
        var span = padded.mutableSpan
        let count = try cipher.transform(ciphertext, iv: iv, into: &span)
        padded.shrink(to: count)
        return SecretBytes(padded)
    }
}
