public import CofferBase
import CofferEngine

/// AES-256-CBC with PKCS#5 padding, authenticated by encrypt-then-MAC with HMAC-SHA-256.
///
/// Use this type only for systems that must use CBC, and ``AEAD`` otherwise. HKDF-SHA256 derives two
/// independent keys from a 32-byte key. The tag covers the length of the associated data (8 bytes,
/// big-endian), the associated data, the IV and the ciphertext. The tag is compared in constant time before
/// anything is decrypted, so there is no padding oracle. Every failure to open a message throws the same
/// `notAuthentic` error.
///
/// A message is IV (16) ‖ ciphertext ‖ tag (32). Sources: NIST SP 800-38A, RFC 2104, RFC 5869.
public struct AuthenticatedCBC: ~Copyable, Sendable {
    /// The tag's size in bytes.
    public static let tagSize = 32
    /// The IV's size in bytes.
    public static let ivSize = 16

    private var encryption: CBCCipher
    private var decryption: CBCCipher
    private var authentication: HMACContext

    private init(
        encryption: consuming CBCCipher, decryption: consuming CBCCipher,
        authentication: consuming HMACContext
    ) {
        self.encryption = encryption
        self.decryption = decryption
        self.authentication = authentication
    }

    /// Derives both keys from a 32-byte key and prepares them for many messages.
    ///
    /// - Throws: `invalidInput` if the key is not 32 bytes long.
    public static func prepare(key: borrowing SymmetricKey) throws(CofferError) -> AuthenticatedCBC {
        guard key.count == 32 else { throw CofferError.wrongKeySize(key.count) }
        let encryptionKey = try HKDF.deriveKey(from: key, info: KDFLabel.cbcEncryption)
        let authenticationKey = try HKDF.deriveKey(from: key, info: KDFLabel.cbcAuthentication)
        return AuthenticatedCBC(
            encryption: try CBCCipher.make(key: encryptionKey.secret.span, encrypting: true),
            decryption: try CBCCipher.make(key: encryptionKey.secret.span, encrypting: false),
            authentication: try HMACContext.make(key: authenticationKey.secret.span, digest: .sha256))
    }

    /// Returns the size in bytes of a sealed message for `count` bytes of plaintext.
    public static func messageSize(_ count: Int) -> Int {
        ivSize + CBCCipher.ciphertextSize(count) + tagSize
    }

    /// Seals `plaintext` under a new random IV and returns IV ‖ ciphertext ‖ tag.
    ///
    /// - Throws: `internalFailure` if an underlying library fails.
    public mutating func seal(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8> = Span()
    ) throws(CofferError) -> [UInt8] {
        let iv = try SecureRandom.bytes(Self.ivSize)
        return try seal(plaintext, choosingIV: iv.span, associatedData: associatedData)
    }

    /// Seals `plaintext` under an IV that the caller chooses, as test vectors require. For any other purpose,
    /// the IV must be unpredictable.
    ///
    /// - Throws: `invalidInput` if the IV is not 16 bytes long.
    public mutating func seal(
        _ plaintext: Span<UInt8>, choosingIV iv: Span<UInt8>, associatedData: Span<UInt8>
    ) throws(CofferError) -> [UInt8] {
        var message = [UInt8](repeating: 0, count: Self.messageSize(plaintext.count))
        var span = message.mutableSpan
        try seal(plaintext, choosingIV: iv, associatedData: associatedData, into: &span)
        return message
    }

    /// Seals `plaintext` into the caller's memory, in one pass over the data.
    ///
    /// - Parameters:
    ///   - plaintext: The bytes to encrypt; may be empty.
    ///   - iv: The IV: 16 bytes, unpredictable for each message.
    ///   - associatedData: The bytes to authenticate with the plaintext.
    ///   - output: The memory for the message, exactly ``messageSize(_:)`` bytes.
    /// - Throws: `invalidInput` if the IV or the output has the wrong size.
    public mutating func seal(
        _ plaintext: Span<UInt8>, choosingIV iv: Span<UInt8>, associatedData: Span<UInt8>,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard iv.count == Self.ivSize else { throw CofferError.wrongNonceSize(iv.count) }
        guard output.count == Self.messageSize(plaintext.count) else { throw CofferError.wrongOutputSize }
        try startTag(associatedData: associatedData)
        try authentication.update(iv)
        output.write(iv, at: 0)
        var rest = output._mutatingExtracting(Self.ivSize...)
        let bodySize = rest.count - Self.tagSize
        var body = rest._mutatingExtracting(..<bodySize)
        try encryption.encrypt(plaintext, iv: iv, into: &body, authenticatingWith: &authentication)
        var tag = rest._mutatingExtracting(bodySize...)
        try authentication.finish(into: &tag)
    }

    /// Opens a message into guarded memory.
    ///
    /// - Throws: `notAuthentic` if the tag, the length or the padding is invalid.
    public mutating func open(
        _ message: Span<UInt8>, associatedData: Span<UInt8> = Span()
    ) throws(CofferError) -> SecretBytes {
        var padded = try GuardedBytes.zeroed(count: max(0, message.count - Self.ivSize - Self.tagSize))
        var span = padded.mutableSpan
        let count = try open(message, associatedData: associatedData, into: &span)
        padded.shrink(to: count)
        return SecretBytes(padded)
    }

    /// Opens a message into the caller's memory.
    ///
    /// - Parameters:
    ///   - message: The IV, followed by the ciphertext and the tag.
    ///   - associatedData: The bytes that were authenticated with the plaintext.
    ///   - output: The memory for the plaintext, at least as long as the ciphertext, which is 48 bytes
    ///     shorter than the message.
    /// - Returns: The number of bytes of plaintext at the start of `output`.
    /// - Throws: `notAuthentic` if the tag, the length or the padding is invalid; `invalidInput` if the
    ///   output is too short.
    public mutating func open(
        _ message: Span<UInt8>, associatedData: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) -> Int {
        guard message.count >= Self.ivSize + CBCCipher.blockSize + Self.tagSize else {
            output.clear()
            throw CofferError.notAuthentic
        }
        let bodyEnd = message.count - Self.tagSize
        try startTag(associatedData: associatedData)
        try authentication.update(message.extracting(..<bodyEnd))
        var expected = [UInt8](repeating: 0, count: Self.tagSize)
        var tag = expected.mutableSpan
        try authentication.finish(into: &tag)
        guard ConstantTime.equal(expected.span, message.extracting(bodyEnd...)) else {
            output.clear()
            throw CofferError.notAuthentic
        }
        return try decryption.transform(
            message.extracting(Self.ivSize..<bodyEnd), iv: message.extracting(..<Self.ivSize), into: &output)
    }

    private mutating func startTag(associatedData: Span<UInt8>) throws(CofferError) {
        try authentication.restart()
        let count = UInt64(associatedData.count)
        let length = InlineArray<8, UInt8> { UInt8(truncatingIfNeeded: count >> (56 - 8 * UInt64($0))) }
        try authentication.update(length.span)
        try authentication.update(associatedData)
    }
}
