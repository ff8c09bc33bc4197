public import CofferBase
import CofferEngine

/// Deterministic authenticated encryption: AES-SIV over CMAC (RFC 5297).
///
/// The same message with the same associated data always encrypts to the same bytes. The ciphertext therefore
/// reveals whether two messages are equal, but nothing else about their content. If the last string of
/// associated data is a nonce, equal messages encrypt differently, and a reused nonce reveals only that two
/// messages are equal. The key has 32, 48 or 64 bytes: the first half authenticates, and the second half
/// encrypts. The output is the synthetic IV (16 bytes) ‖ ciphertext.
///
/// Limits: the ciphertext does not commit to its key, and the whole message must be in memory.
public struct SIV: ~Copyable, Sendable {
    /// The size of the synthetic IV in bytes.
    public static let tagSize = SIVCipher.tagSize
    /// The maximum number of strings of associated data.
    public static let maxStringCount = SIVCipher.maxStringCount

    private var cipher: SIVCipher

    private init(cipher: consuming SIVCipher) { self.cipher = cipher }

    /// Prepares `key` for sealing and opening many messages.
    ///
    /// - Throws: `invalidInput` if the key is not 32, 48 or 64 bytes long.
    public static func prepare(key: borrowing SymmetricKey) throws(CofferError) -> SIV {
        SIV(cipher: try SIVCipher.make(key: key.secret.span))
    }

    /// Seals `plaintext` and returns the synthetic IV ‖ ciphertext.
    ///
    /// - Parameters:
    ///   - plaintext: The bytes to encrypt; may be empty.
    ///   - associatedData: Strings that are authenticated with the plaintext, separately and in order. An
    ///     empty string is not the same as no string.
    /// - Returns: The synthetic IV and the ciphertext, 16 bytes more than the plaintext.
    /// - Throws: `invalidInput` if there are more than 126 strings of associated data.
    public mutating func seal(
        _ plaintext: Span<UInt8>, associatedData: [[UInt8]] = []
    ) throws(CofferError) -> [UInt8] {
        try add(associatedData)
        var sealed = [UInt8](repeating: 0, count: plaintext.count + Self.tagSize)
        var span = sealed.mutableSpan
        try cipher.seal(plaintext, into: &span)
        return sealed
    }

    /// Opens a message into guarded memory.
    ///
    /// - Throws: `notAuthentic` unless the message was sealed under this key with these strings;
    ///   `invalidInput` if there are more than 126 strings of associated data.
    public mutating func open(
        _ sealed: Span<UInt8>, associatedData: [[UInt8]] = []
    ) throws(CofferError) -> SecretBytes {
        try add(associatedData)
        var plaintext = try GuardedBytes.zeroed(count: max(0, sealed.count - Self.tagSize))
        var span = plaintext.mutableSpan
        try cipher.open(sealed, into: &span)
        return SecretBytes(plaintext)
    }

    private mutating func add(_ strings: [[UInt8]]) throws(CofferError) {
        guard strings.count <= Self.maxStringCount else {
            throw CofferError(
                .invalidInput, "AES-SIV accepts at most \(Self.maxStringCount) strings of associated data.")
        }
        try cipher.start()
        for string in strings { try cipher.add(string.span) }
    }
}
