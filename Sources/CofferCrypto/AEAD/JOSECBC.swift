public import CofferBase
import CofferEngine

/// JOSE's authenticated ciphers: AES-CBC followed by HMAC with SHA-2 (RFC 7518 section 5.2).
///
/// Use this type only for JSON Web Encryption and formats built on it, and ``AEAD`` otherwise. The first half
/// of the key authenticates, and the second half encrypts. The tag is the first half of an HMAC over the
/// associated data, the IV, the ciphertext and the length of the associated data in bits (8 bytes,
/// big-endian). The tag is compared in constant time before anything is decrypted, so there is no padding
/// oracle, and every failure to open a message throws the same `notAuthentic` error.
///
/// IVs are 16 bytes and must be unpredictable for each message. Only A256CBC-HS512 encrypts under a 256-bit
/// key: A128CBC-HS256 and A192CBC-HS384 encrypt under keys of only 16 and 24 bytes.
public struct JOSECBC: ~Copyable, Sendable {
    /// The supported algorithms.
    public enum Algorithm: Sendable, CaseIterable {
        /// A128CBC-HS256: a 32-byte key and a 16-byte tag.
        case a128CBCHS256
        /// A192CBC-HS384: a 48-byte key and a 24-byte tag.
        case a192CBCHS384
        /// A256CBC-HS512: a 64-byte key and a 32-byte tag.
        case a256CBCHS512

        /// The combined key's size in bytes.
        public var keySize: Int { 2 * tagSize }

        /// The tag's size in bytes.
        public var tagSize: Int {
            switch self {
            case .a128CBCHS256: 16
            case .a192CBCHS384: 24
            case .a256CBCHS512: 32
            }
        }

        var digest: Digest {
            switch self {
            case .a128CBCHS256: .sha256
            case .a192CBCHS384: .sha384
            case .a256CBCHS512: .sha512
            }
        }
    }

    /// The IV's size in bytes.
    public static let ivSize = 16

    private let algorithm: Algorithm
    private var encryption: CBCCipher
    private var decryption: CBCCipher
    private var authentication: HMACContext

    private init(
        _ algorithm: Algorithm, encryption: consuming CBCCipher, decryption: consuming CBCCipher,
        authentication: consuming HMACContext
    ) {
        self.algorithm = algorithm
        self.encryption = encryption
        self.decryption = decryption
        self.authentication = authentication
    }

    /// Prepares `key` for sealing and opening many messages with `algorithm`.
    ///
    /// - Throws: `invalidInput` if the key has the wrong size for the algorithm.
    public static func prepare(
        _ algorithm: Algorithm, key: borrowing SymmetricKey
    ) throws(CofferError) -> JOSECBC {
        guard key.count == algorithm.keySize else { throw CofferError.wrongKeySize(key.count) }
        let half = algorithm.tagSize
        return JOSECBC(
            algorithm,
            encryption: try CBCCipher.make(key: key.secret.span.extracting(half...), encrypting: true),
            decryption: try CBCCipher.make(key: key.secret.span.extracting(half...), encrypting: false),
            authentication: try HMACContext.make(
                key: key.secret.span.extracting(..<half), digest: algorithm.digest.engine))
    }

    /// Seals `plaintext` under a new random IV.
    ///
    /// - Returns: The IV, the ciphertext and the tag, which JOSE writes separately.
    /// - Throws: `internalFailure` if an underlying library fails.
    public mutating func seal(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8> = Span()
    ) throws(CofferError) -> (iv: [UInt8], ciphertext: [UInt8], tag: [UInt8]) {
        let iv = try SecureRandom.bytes(Self.ivSize)
        let sealed = try seal(plaintext, choosingIV: iv.span, associatedData: associatedData)
        return (iv, sealed.ciphertext, sealed.tag)
    }

    /// Seals `plaintext` under an IV that the caller chooses, as test vectors require. For any other purpose,
    /// the IV must be unpredictable.
    ///
    /// - Throws: `invalidInput` if the IV is not 16 bytes long.
    public mutating func seal(
        _ plaintext: Span<UInt8>, choosingIV iv: Span<UInt8>, associatedData: Span<UInt8>
    ) throws(CofferError) -> (ciphertext: [UInt8], tag: [UInt8]) {
        guard iv.count == Self.ivSize else { throw CofferError.wrongNonceSize(iv.count) }
        try authentication.restart()
        try authentication.update(associatedData)
        try authentication.update(iv)
        var ciphertext = [UInt8](repeating: 0, count: CBCCipher.ciphertextSize(plaintext.count))
        var span = ciphertext.mutableSpan
        try encryption.encrypt(plaintext, iv: iv, into: &span, authenticatingWith: &authentication)
        return (ciphertext, try tag(associatedData.count))
    }

    /// Opens a message into guarded memory.
    ///
    /// - Throws: `notAuthentic` if the tag, the size of any part or the padding is invalid.
    public mutating func open(
        _ ciphertext: Span<UInt8>, tag: Span<UInt8>, iv: Span<UInt8>, associatedData: Span<UInt8> = Span()
    ) throws(CofferError) -> SecretBytes {
        guard iv.count == Self.ivSize else { throw CofferError.notAuthentic }
        try authentication.restart()
        try authentication.update(associatedData)
        try authentication.update(iv)
        try authentication.update(ciphertext)
        let expected = try self.tag(associatedData.count)
        guard ConstantTime.equal(expected.span, tag) else { throw CofferError.notAuthentic }
        var padded = try GuardedBytes.zeroed(count: ciphertext.count)
        var span = padded.mutableSpan
        let count = try decryption.transform(ciphertext, iv: iv, into: &span)
        padded.shrink(to: count)
        return SecretBytes(padded)
    }

    /// Adds the length of the associated data to the HMAC and returns the first half of the result.
    private mutating func tag(_ associatedCount: Int) throws(CofferError) -> [UInt8] {
        let bits = UInt64(associatedCount) * 8
        let length = InlineArray<8, UInt8> { UInt8(truncatingIfNeeded: bits >> (56 - 8 * UInt64($0))) }
        try authentication.update(length.span)
        var whole = [UInt8](repeating: 0, count: algorithm.digest.size)
        var span = whole.mutableSpan
        try authentication.finish(into: &span)
        return Array(whole.prefix(algorithm.tagSize))
    }
}
