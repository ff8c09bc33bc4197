public import CofferBase
import CofferEngine

/// The ciphers of ``AEAD``, with nonces that the caller chooses.
///
/// **Dangerous**: reusing a nonce under one key compromises both messages and the key's authentication. Use
/// this type only for protocols that prescribe the nonce and for test vectors; otherwise use ``AEAD``, which
/// draws its nonces itself. This type does not count messages.
public struct UnsafeNonceAEAD: ~Copyable, Sendable {
    /// The XChaCha20-Poly1305 key, for which libsodium has no reusable key schedule.
    private final class ExtendedKey: Sendable {
        let key: SymmetricKey
        init(_ key: consuming SymmetricKey) { self.key = key }
    }

    /// The algorithm.
    public let algorithm: AEAD.Algorithm
    private var cipher: AEADCipher?
    private var xaes: XAESCipher?
    private let extended: ExtendedKey?

    private init(
        _ algorithm: AEAD.Algorithm, cipher: consuming AEADCipher? = nil, xaes: consuming XAESCipher? = nil,
        extended: ExtendedKey? = nil
    ) {
        self.algorithm = algorithm
        self.cipher = cipher
        self.xaes = xaes
        self.extended = extended
    }

    /// Prepares `key` for sealing and opening many messages with `algorithm`.
    ///
    /// - Throws: `invalidInput` if the key has the wrong size for the algorithm.
    public static func prepare(_ algorithm: AEAD.Algorithm, key: borrowing SymmetricKey) throws(CofferError)
        -> UnsafeNonceAEAD
    {
        guard key.count == algorithm.keySize else { throw CofferError.wrongKeySize(key.count) }
        if let engine = algorithm.engine {
            return UnsafeNonceAEAD(algorithm, cipher: try AEADCipher.make(engine, key: key.secret.span))
        }
        if algorithm == .xaes256GCM {
            return UnsafeNonceAEAD(algorithm, xaes: try XAESCipher.make(key: key.secret.span))
        }
        return UnsafeNonceAEAD(algorithm, extended: ExtendedKey(try SymmetricKey.copying(key.secret.span)))
    }

    /// Seals `plaintext` into the caller's memory as ciphertext ‖ tag. The caller must never have used the
    /// nonce under this key.
    ///
    /// - Parameters:
    ///   - plaintext: The bytes to encrypt; may be empty.
    ///   - nonce: The nonce, of exactly the algorithm's nonce size.
    ///   - associatedData: The bytes to authenticate with the plaintext.
    ///   - output: The memory for the ciphertext and the tag, exactly 16 bytes longer than the plaintext.
    /// - Throws: `invalidInput` if the nonce or the output has the wrong size.
    public mutating func seal(
        _ plaintext: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        // The most frequent case comes first, because a short message takes little longer than these checks.
        guard cipher == nil else {
            try cipher?.seal(plaintext, nonce: nonce, associatedData: associatedData, into: &output)
            return
        }
        guard let extended else {
            try xaes?.seal(plaintext, nonce: nonce, associatedData: associatedData, into: &output)
            return
        }
        try extended.key.withSpan { (key) throws(CofferError) in
            try XChaChaBinding.seal(
                plaintext, key: key, nonce: nonce, associatedData: associatedData, into: &output)
        }
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
        // The most frequent case comes first, because a short message takes little longer than these checks.
        guard cipher == nil else {
            try cipher?.open(sealed, nonce: nonce, associatedData: associatedData, into: &output)
            return
        }
        guard let extended else {
            try xaes?.open(sealed, nonce: nonce, associatedData: associatedData, into: &output)
            return
        }
        try extended.key.withSpan { (key) throws(CofferError) in
            try XChaChaBinding.open(
                sealed, key: key, nonce: nonce, associatedData: associatedData, into: &output)
        }
    }

    /// Replaces the plaintext, which is all of `buffer` except its last 16 bytes, with the ciphertext and the
    /// tag. The caller must never reuse the nonce. Throws `unsupported` if the algorithm is
    /// XChaCha20-Poly1305.
    package mutating func sealInPlace(
        _ buffer: inout MutableSpan<UInt8>, nonce: Span<UInt8>
    ) throws(CofferError) {
        guard extended == nil else {
            throw CofferError(
                .unsupported, "This algorithm does not support sealing in place.")
        }
        try xaes?.sealInPlace(&buffer, nonce: nonce, associatedData: Span())
        try cipher?.sealInPlace(&buffer, nonce: nonce, associatedData: Span())
    }

    /// Replaces the ciphertext and the tag in `buffer` with the plaintext, which is 16 bytes shorter. Throws
    /// `unsupported` if the algorithm is XChaCha20-Poly1305.
    package mutating func openInPlace(
        _ buffer: inout MutableSpan<UInt8>, nonce: Span<UInt8>
    ) throws(CofferError) {
        guard extended == nil else {
            throw CofferError(
                .unsupported, "This algorithm does not support opening in place.")
        }
        try xaes?.openInPlace(&buffer, nonce: nonce, associatedData: Span())
        try cipher?.openInPlace(&buffer, nonce: nonce, associatedData: Span())
    }
}
