public import CofferBase
import CofferEngine

/// AES-256-CBC with PKCS#5 padding, made safe by encrypt-then-MAC with HMAC-SHA-256.
///
/// For systems that must stay with CBC; otherwise use ``AEAD``. From a 32-byte key two independent ones are
/// derived by HKDF-SHA256. The tag covers the length of the associated data (8 bytes, big-endian), the
/// associated data, the IV and the ciphertext, and is compared in constant time before anything is decrypted,
/// so that there is no padding to ask about. Every failure is the same `notAuthentic`.
///
/// A message is IV (16) ‖ ciphertext ‖ tag (32). Sources: NIST SP 800-38A, RFC 2104, RFC 5869.
public struct AuthenticatedCBC: ~Copyable, Sendable {
    /// The tag's size in bytes.
    public static let tagSize = 32
    /// The IV's size in bytes.
    public static let ivSize = 16

    private let encryptionKey: SymmetricKey
    private let authenticationKey: SymmetricKey

    private init(encryptionKey: consuming SymmetricKey, authenticationKey: consuming SymmetricKey) {
        self.encryptionKey = encryptionKey
        self.authenticationKey = authenticationKey
    }

    /// Derives both keys from a key of 32 bytes.
    ///
    /// - Throws: `invalidInput` for a key of another size.
    public static func make(key: borrowing SymmetricKey) throws(CofferError) -> AuthenticatedCBC {
        guard key.count == 32 else { throw CofferError.wrongKeySize(key.count) }
        let encryptionKey = try HKDF.deriveKey(from: key, info: Label.cbcEncryption)
        let authenticationKey = try HKDF.deriveKey(from: key, info: Label.cbcAuthentication)
        return AuthenticatedCBC(encryptionKey: encryptionKey, authenticationKey: authenticationKey)
    }

    /// Seals under a new random IV.
    ///
    /// - Throws: `outOfMemory` when there is no guarded memory.
    public func seal(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8> = Span()
    ) throws(CofferError) -> [UInt8] {
        let iv = try SecureRandom.bytes(Self.ivSize)
        return try seal(plaintext, choosingIV: iv.span, associatedData: associatedData)
    }

    /// Seals under an IV that the caller chooses, for test vectors: IVs must be unpredictable.
    ///
    /// - Throws: `invalidInput` for an IV that is not 16 bytes.
    public func seal(
        _ plaintext: Span<UInt8>, choosingIV iv: Span<UInt8>, associatedData: Span<UInt8>
    ) throws(CofferError) -> [UInt8] {
        var cipher = try CBCCipher.make(key: encryptionKey.secret.span, encrypting: true)
        let bodySize = CBCCipher.ciphertextSize(plaintext.count)
        var message = [UInt8](repeating: 0, count: Self.ivSize + bodySize + Self.tagSize)
        var span = message.mutableSpan
        guard iv.count == Self.ivSize else { throw CofferError.wrongNonceSize(iv.count) }
        span.write(iv, at: 0)
        var body = span._mutatingExtracting(Self.ivSize..<Self.ivSize + bodySize)
        _ = try cipher.transform(plaintext, iv: iv, into: &body)
        let tag = try tag(
            of: message.span.extracting(..<(Self.ivSize + bodySize)), associatedData: associatedData)
        message.replaceSubrange((Self.ivSize + bodySize)..., with: tag)
        return message
    }

    /// Opens a message into guarded memory.
    ///
    /// - Throws: `notAuthentic` for a bad tag, a bad length and bad padding alike.
    public func open(
        _ message: Span<UInt8>, associatedData: Span<UInt8> = Span()
    ) throws(CofferError) -> SecretBytes {
        guard message.count >= Self.ivSize + CBCCipher.blockSize + Self.tagSize else {
            throw CofferError.notAuthentic
        }
        let bodyEnd = message.count - Self.tagSize
        let expected = try tag(of: message.extracting(..<bodyEnd), associatedData: associatedData)
        guard ConstantTime.equal(expected.span, message.extracting(bodyEnd...)) else {
            throw CofferError.notAuthentic
        }
        return try CBC.open(
            message.extracting(Self.ivSize..<bodyEnd), iv: message.extracting(..<Self.ivSize),
            key: encryptionKey)
    }

    private func tag(of body: Span<UInt8>, associatedData: Span<UInt8>) throws(CofferError) -> [UInt8] {
        var context = try HMACContext.make(key: authenticationKey.secret.span, digest: .sha256)
        let length = UInt64(associatedData.count).bigEndianBytes
        try context.update(length.span)
        try context.update(associatedData)
        try context.update(body)
        var tag = [UInt8](repeating: 0, count: Self.tagSize)
        var span = tag.mutableSpan
        try context.finish(into: &span)
        return tag
    }
}
