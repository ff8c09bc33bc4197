public import CofferBase
import CofferEngine

/// An AES key prepared for CBC with PKCS#5 padding, for many messages and into the caller's own memory.
///
/// Where ``CBC`` expands the key for each message and gives new memory each time, this does the first once
/// and the second never. **Not authenticated**: all that is said at ``CBC`` holds.
public struct CBCKey: ~Copyable, Sendable {
    private var encryption: CBCCipher
    private var decryption: CBCCipher

    private init(encryption: consuming CBCCipher, decryption: consuming CBCCipher) {
        self.encryption = encryption
        self.decryption = decryption
    }

    /// Prepares a key of 16, 24 or 32 bytes.
    ///
    /// - Throws: `invalidInput` for a key of another size.
    public static func make(_ key: borrowing SymmetricKey) throws(CofferError) -> CBCKey {
        CBCKey(
            encryption: try CBCCipher.make(key: key.secret.span, encrypting: true),
            decryption: try CBCCipher.make(key: key.secret.span, encrypting: false))
    }

    /// The size of the ciphertext of `count` bytes: padding adds 1 to 16.
    public static func sealedSize(_ count: Int) -> Int { CBCCipher.ciphertextSize(count) }

    /// Encrypts `plaintext`.
    ///
    /// - Parameters:
    ///   - plaintext: What is encrypted; it may be empty.
    ///   - iv: 16 bytes, unpredictable for each message.
    ///   - output: At least ``sealedSize(_:)`` bytes.
    /// - Returns: How many bytes of `output` were written.
    /// - Throws: `invalidInput` for an IV of another size.
    public mutating func seal(
        _ plaintext: Span<UInt8>, iv: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) -> Int {
        try encryption.transform(plaintext, iv: iv, into: &output)
    }

    /// Decrypts `ciphertext`.
    ///
    /// - Parameters:
    ///   - ciphertext: A multiple of 16 bytes, at least 16.
    ///   - iv: The 16 bytes it was encrypted with.
    ///   - output: At least as many bytes as the ciphertext has; cleared when decryption fails.
    /// - Returns: How many bytes of `output` are the plaintext; behind them stands what is left of the
    ///   padding.
    /// - Throws: `notAuthentic` for a bad length and bad padding alike; `invalidInput` for an IV of another
    ///   size.
    public mutating func open(
        _ ciphertext: Span<UInt8>, iv: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) -> Int {
        try decryption.transform(ciphertext, iv: iv, into: &output)
    }
}
