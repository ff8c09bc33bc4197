public import CofferBase
import CofferEngine

/// An AES key prepared for many messages in CBC mode with PKCS#5 padding. Each operation writes to the
/// caller's memory.
///
/// ``CBC`` expands the key and allocates memory for each message; this type expands the key once and
/// allocates no memory for messages. **Not authenticated**: the warnings for ``CBC`` apply.
public struct CBCKey: ~Copyable, Sendable {
    private var encryption: CBCCipher
    private var decryption: CBCCipher

    private init(encryption: consuming CBCCipher, decryption: consuming CBCCipher) {
        self.encryption = encryption
        self.decryption = decryption
    }

    /// Prepares a key of 16, 24 or 32 bytes for many messages.
    ///
    /// - Throws: `invalidInput` if the key has another size.
    public static func prepare(key: borrowing SymmetricKey) throws(CofferError) -> CBCKey {
        CBCKey(
            encryption: try CBCCipher.make(key: key.secret.span, encrypting: true),
            decryption: try CBCCipher.make(key: key.secret.span, encrypting: false))
    }

    /// Returns the size in bytes of the ciphertext for `count` bytes of plaintext. Padding adds 1 to 16
    /// bytes.
    public static func sealedSize(_ count: Int) -> Int { CBCCipher.ciphertextSize(count) }

    /// Encrypts `plaintext` into the caller's memory.
    ///
    /// - Parameters:
    ///   - plaintext: The bytes to encrypt; may be empty.
    ///   - iv: The IV: 16 bytes, unpredictable for each message.
    ///   - output: The memory for the ciphertext, at least ``sealedSize(_:)`` bytes.
    /// - Returns: The number of bytes written to `output`.
    /// - Throws: `invalidInput` if the IV is not 16 bytes long or the output is too short.
    public mutating func seal(
        _ plaintext: Span<UInt8>, iv: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) -> Int {
        try encryption.transform(plaintext, iv: iv, into: &output)
    }

    /// Decrypts `ciphertext` into the caller's memory.
    ///
    /// - Parameters:
    ///   - ciphertext: The bytes to decrypt. Their number must be a multiple of 16 and at least 16.
    ///   - iv: The 16-byte IV with which the message was encrypted.
    ///   - output: The memory for the plaintext, at least as long as the ciphertext; cleared if decryption
    ///     fails.
    /// - Returns: The number of bytes of plaintext at the start of `output`.
    /// - Throws: `notAuthentic` if the length or the padding is invalid; `invalidInput` if the IV is not 16
    ///   bytes long or the output is too short.
    public mutating func open(
        _ ciphertext: Span<UInt8>, iv: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) -> Int {
        try decryption.transform(ciphertext, iv: iv, into: &output)
    }
}
