public import CofferBase
import CofferEngine

/// Authenticated encryption with associated data under one key, prepared once for many messages.
///
/// `seal` draws a random nonce for each message and prepends it: nonce ‖ ciphertext ‖ tag. Tags are always 16
/// bytes. Every failure to open a message throws the same `notAuthentic` error, and no plaintext is released
/// before the tag is checked. Only ``UnsafeNonceAEAD`` seals under nonces that the caller chooses.
///
/// Limits: with the 12-byte nonces of AES-GCM and ChaCha20-Poly1305, seal at most 2^32 messages under one key
/// (NIST SP 800-38D section 8.3). A value of this type counts its messages and refuses to seal more.
/// XChaCha20-Poly1305 and XAES-256-GCM have no such limit. For many messages whose nonces share their first
/// half, use ``XAES256GCM``.
///
/// Sources: NIST SP 800-38D, RFC 8439, draft-irtf-cfrg-xchacha-03, C2SP XAES-256-GCM.
public struct AEAD: ~Copyable, Sendable {
    /// The supported algorithms.
    public enum Algorithm: Sendable, CaseIterable {
        /// AES-GCM with a 16-byte key.
        case aes128GCM
        /// AES-GCM with a 24-byte key.
        case aes192GCM
        /// AES-GCM with a 32-byte key.
        case aes256GCM
        /// ChaCha20-Poly1305 (RFC 8439).
        case chaCha20Poly1305
        /// XChaCha20-Poly1305: 24-byte nonces, which can be generated at random without limit.
        case xChaCha20Poly1305

        /// XAES-256-GCM: 24-byte nonces, which can be generated at random without limit.
        case xaes256GCM

        /// The key's size in bytes.
        public var keySize: Int { engine?.keySize ?? 32 }

        /// The nonce's size in bytes: 24 for the two algorithms whose names begin with X, otherwise 12.
        public var nonceSize: Int { engine == nil ? 24 : AEADCipher.nonceSize }

        /// The engine's algorithm; `nil` for the algorithms with 24-byte nonces.
        var engine: AEADCipher.Algorithm? {
            switch self {
            case .aes128GCM: .aes128GCM
            case .aes192GCM: .aes192GCM
            case .aes256GCM: .aes256GCM
            case .chaCha20Poly1305: .chaCha20Poly1305
            case .xChaCha20Poly1305, .xaes256GCM: nil
            }
        }
    }

    /// The tag's size in bytes.
    public static let tagSize = 16

    private var cipher: UnsafeNonceAEAD
    private var randomNonces: UInt64 = 0

    private init(_ cipher: consuming UnsafeNonceAEAD) { self.cipher = cipher }

    /// The algorithm.
    public var algorithm: Algorithm { cipher.algorithm }

    /// Prepares `key` for sealing and opening many messages with `algorithm`.
    ///
    /// - Throws: `invalidInput` if the key has the wrong size for the algorithm.
    public static func prepare(_ algorithm: Algorithm, key: borrowing SymmetricKey) throws(CofferError)
        -> AEAD
    {
        AEAD(try UnsafeNonceAEAD.prepare(algorithm, key: key))
    }

    /// The number of bytes by which a sealed message with its nonce is longer than the plaintext.
    public var overhead: Int { algorithm.nonceSize + Self.tagSize }

    /// Seals `plaintext` under a new random nonce and returns nonce ‖ ciphertext ‖ tag.
    ///
    /// - Throws: `refused` if this value has already sealed 2^32 messages with 12-byte nonces.
    public mutating func seal(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8> = Span()
    ) throws(CofferError) -> [UInt8] {
        guard algorithm.engine == nil || randomNonces < 1 << 32 else {
            throw CofferError(
                .refused, "This key has reached its limit of 2^32 sealed messages. Use a new key.")
        }
        randomNonces += 1
        let size = algorithm.nonceSize
        let nonce = try SecureRandom.bytes(size)
        var sealed = [UInt8](repeating: 0, count: plaintext.count + overhead)
        var span = sealed.mutableSpan
        span.write(nonce.span, at: 0)
        var body = span._mutatingExtracting(size...)
        try cipher.seal(plaintext, nonce: nonce.span, associatedData: associatedData, into: &body)
        return sealed
    }

    /// Opens a message that ``seal(_:associatedData:)`` sealed and returns the plaintext in guarded memory.
    ///
    /// - Throws: `notAuthentic` unless the message was sealed under this key with this associated data.
    public mutating func open(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8> = Span()
    ) throws(CofferError) -> SecretBytes {
        guard sealed.count >= overhead else { throw CofferError.notAuthentic }
        let size = algorithm.nonceSize
        var plaintext = try GuardedBytes.zeroed(count: sealed.count - overhead)
        var span = plaintext.mutableSpan
        try open(
            sealed.extracting(size...), nonce: sealed.extracting(..<size), associatedData: associatedData,
            into: &span)
        return SecretBytes(plaintext)
    }

    /// Opens a message, whose nonce is passed separately, into the caller's memory.
    ///
    /// - Parameters:
    ///   - sealed: The ciphertext, followed by the tag.
    ///   - nonce: The nonce, of exactly the algorithm's nonce size.
    ///   - associatedData: The bytes that were authenticated with the plaintext.
    ///   - output: The memory for the plaintext, exactly 16 bytes shorter than `sealed`; cleared if opening
    ///     fails.
    /// - Throws: `notAuthentic` if `sealed` is too short or its tag is invalid; `invalidInput` if the nonce
    ///   or the output has the wrong size.
    public mutating func open(
        _ sealed: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        try cipher.open(sealed, nonce: nonce, associatedData: associatedData, into: &output)
    }
}
