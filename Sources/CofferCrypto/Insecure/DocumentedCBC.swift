public import CofferBase
import CofferEngine

extension Insecure.DocumentedCBC {
    /// Encrypts `plaintext` with the documented scheme, AES-CBC with PKCS#5 padding under a key of 16 or 32
    /// bytes, and returns IV (16 random bytes) ‖ ciphertext.
    ///
    /// "AES-128 with a 256-bit key" in the documents means AES-256: 128 is the block size in bits. The
    /// message is not authenticated, so the warnings for ``CBC`` apply.
    ///
    /// - Throws: `invalidInput` if the key is not 16 or 32 bytes long.
    public static func encrypt(
        _ plaintext: Span<UInt8>, key: borrowing SymmetricKey
    ) throws(CofferError) -> [UInt8] {
        try checkKeySize(key.count)
        let iv = try SecureRandom.bytes(16)
        return iv + (try CBC.seal(plaintext, iv: iv.span, key: key))
    }

    /// Decrypts a message that ``encrypt(_:key:)`` encrypted.
    ///
    /// - Throws: `notAuthentic` if the length or the padding is invalid; `invalidInput` if the key is not 16
    ///   or 32 bytes long.
    public static func decrypt(
        _ message: Span<UInt8>, key: borrowing SymmetricKey
    ) throws(CofferError) -> SecretBytes {
        try checkKeySize(key.count)
        guard message.count >= 32 else { throw CofferError.notAuthentic }
        return try CBC.open(message.extracting(16...), iv: message.extracting(..<16), key: key)
    }

    private static func checkKeySize(_ count: Int) throws(CofferError) {
        guard count == 16 || count == 32 else { throw CofferError.wrongKeySize(count) }
    }
}
