public import CofferBase
import CofferEngine

/// XAES-256-GCM for many messages whose nonces share their first half.
///
/// XAES-256-GCM derives a key from its own key and the first 12 bytes of the 24-byte nonce; the last 12 bytes
/// are the AES-256-GCM nonce under the derived key. ``derived(noncePrefix:)`` derives the key once for all
/// messages that share a prefix, such as the pages written while a database is open. Each message then
/// requires only one plain AES-256-GCM operation and allocates no memory. The messages are the same as those
/// that ``AEAD`` with `xaes256GCM` seals under the whole nonce.
///
/// Generate the prefix at random, and a new random suffix for each message. Seal at most 2^32 messages under
/// one prefix; one key may have any number of prefixes. As with every GCM mode, a reused nonce breaks
/// confidentiality and authentication, and the ciphertext does not commit to its key.
///
/// Sources: C2SP XAES-256-GCM, NIST SP 800-108r1, SP 800-38B, SP 800-38D.
public struct XAES256GCM: ~Copyable, Sendable {
    /// The key's size in bytes.
    public static let keySize = XAESCipher.keySize
    /// The nonce's size in bytes.
    public static let nonceSize = XAESCipher.nonceSize
    /// The size in bytes of the nonce's first part, from which a key is derived.
    public static let noncePrefixSize = XAESCipher.prefixSize
    /// The tag's size in bytes.
    public static let tagSize = XAESCipher.tagSize

    private var cipher: XAESCipher

    private init(cipher: consuming XAESCipher) { self.cipher = cipher }

    /// Prepares a 32-byte key for deriving keys for nonce prefixes.
    ///
    /// - Throws: `invalidInput` if the key is not 32 bytes long.
    public static func prepare(key: borrowing SymmetricKey) throws(CofferError) -> XAES256GCM {
        XAES256GCM(cipher: try XAESCipher.make(key: key.secret.span))
    }

    /// Derives the key for nonces that begin with `noncePrefix`.
    ///
    /// - Throws: `invalidInput` if the prefix is not 12 bytes long.
    public mutating func derived(noncePrefix: Span<UInt8>) throws(CofferError) -> Derived {
        Derived(cipher: try cipher.derived(prefix: noncePrefix))
    }

    /// The expanded key for one nonce prefix.
    public struct Derived: ~Copyable, Sendable {
        private var cipher: AEADCipher

        init(cipher: consuming AEADCipher) { self.cipher = cipher }

        /// Seals `plaintext` into the caller's memory as ciphertext ‖ tag.
        ///
        /// - Parameters:
        ///   - plaintext: The bytes to encrypt; may be empty.
        ///   - nonceSuffix: The nonce's last 12 bytes, never reused under one prefix.
        ///   - associatedData: The bytes to authenticate with the plaintext.
        ///   - output: The memory for the ciphertext and the tag, exactly 16 bytes longer than the plaintext.
        /// - Throws: `invalidInput` if the suffix or the output has the wrong size.
        public mutating func seal(
            _ plaintext: Span<UInt8>, choosingNonceSuffix nonceSuffix: Span<UInt8>,
            associatedData: Span<UInt8>, into output: inout MutableSpan<UInt8>
        ) throws(CofferError) {
            try cipher.seal(plaintext, nonce: nonceSuffix, associatedData: associatedData, into: &output)
        }

        /// Replaces the plaintext, which is all of `buffer` except its last 16 bytes, with the ciphertext and
        /// the tag.
        ///
        /// - Throws: `invalidInput` if the suffix is not 12 bytes long or the buffer is shorter than 16
        ///   bytes.
        public mutating func sealInPlace(
            _ buffer: inout MutableSpan<UInt8>, choosingNonceSuffix nonceSuffix: Span<UInt8>,
            associatedData: Span<UInt8>
        ) throws(CofferError) {
            try cipher.sealInPlace(&buffer, nonce: nonceSuffix, associatedData: associatedData)
        }

        /// Opens a message, whose nonce is not part of `sealed`, into the caller's memory.
        ///
        /// - Parameters:
        ///   - sealed: The ciphertext, followed by the tag.
        ///   - nonceSuffix: The nonce's last 12 bytes.
        ///   - associatedData: The bytes that were authenticated with the plaintext.
        ///   - output: The memory for the plaintext, exactly 16 bytes shorter than `sealed`; cleared if
        ///     opening fails.
        /// - Throws: `notAuthentic` if `sealed` is too short or its tag is invalid; `invalidInput` if the
        ///   suffix or the output has the wrong size.
        public mutating func open(
            _ sealed: Span<UInt8>, nonceSuffix: Span<UInt8>, associatedData: Span<UInt8>,
            into output: inout MutableSpan<UInt8>
        ) throws(CofferError) {
            try cipher.open(sealed, nonce: nonceSuffix, associatedData: associatedData, into: &output)
        }

        /// Replaces the ciphertext and the tag in `buffer` with the plaintext, which is 16 bytes shorter;
        /// clears `buffer` if the tag is invalid.
        ///
        /// - Throws: `notAuthentic` if `buffer` is too short or the tag is invalid; `invalidInput` if the
        ///   suffix is not 12 bytes long.
        public mutating func openInPlace(
            _ buffer: inout MutableSpan<UInt8>, nonceSuffix: Span<UInt8>, associatedData: Span<UInt8>
        ) throws(CofferError) {
            try cipher.openInPlace(&buffer, nonce: nonceSuffix, associatedData: associatedData)
        }
    }
}
