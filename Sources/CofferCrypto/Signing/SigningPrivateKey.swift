public import CofferBase
import CofferEngine

/// The private half of a key pair for signatures, in guarded memory. Code outside this package cannot read
/// its bytes.
public struct SigningPrivateKey: ~Copyable, Sendable {
    /// The number of bits of the largest RSA key.
    public static let largestModulus = 4096
    /// The number of bytes of the largest private key: that of an RSA key of 4096 bits.
    package static let largestSize = 2400

    /// The public half.
    public let publicKey: SigningPublicKey
    /// The bytes that are stored: an Ed25519 seed, the number of an ECDSA key, or the DER encoding of an RSA
    /// key's numbers (`RSAPrivateKey` in RFC 8017).
    package let secret: SecretBytes

    private init(_ publicKey: SigningPublicKey, _ secret: consuming SecretBytes) {
        self.publicKey = publicKey
        self.secret = secret
    }

    /// Returns a new key.
    ///
    /// - Parameter algorithm: The algorithm.
    /// - Returns: The key.
    /// - Throws: `unsupported` for RSA; `outOfMemory` if no guarded memory is available.
    public static func generate(_ algorithm: SigningAlgorithm) throws(CofferError) -> SigningPrivateKey {
        switch algorithm {
        case .ed25519: try make(algorithm, try SecretBytes.random(count: Ed25519.keySize))
        case .p256: try make(algorithm, try ECDSAP256.generate())
        case .p384: try make(algorithm, try ECDSAP384.generate())
        case .rsa:
            throw CofferError(
                .unsupported, "RSA keys are imported, not generated. Generate an Ed25519 or ECDSA key.")
        }
    }

    /// Returns the key with these bytes, which it checks.
    ///
    /// - Throws: `invalidInput` if the bytes are not a private key of the algorithm, or if an RSA key has
    ///   more than 4096 bits, its numbers do not belong together, or its primes are easy to find.
    package static func make(
        _ algorithm: SigningAlgorithm, _ secret: consuming SecretBytes
    ) throws(CofferError) -> SigningPrivateKey {
        let publicKey: SigningPublicKey
        switch algorithm {
        case .ed25519:
            publicKey = .ed25519(try Ed25519Binding.publicKey(seed: secret.guarded.span))
        case .p256: publicKey = .p256(try ECDSAP256.publicKey(privateKey: secret))
        case .p384: publicKey = .p384(try ECDSAP384.publicKey(privateKey: secret))
        case .rsa: publicKey = .rsa(try RSASignature.publicKey(privateKey: secret))
        }
        try publicKey.check()
        let key = SigningPrivateKey(publicKey, secret)
        if algorithm == .rsa { try key.checkNumbers() }
        return key
    }

    /// Returns the key with the public half and the bytes that ``make(_:_:)`` checked before they were
    /// stored, so that using a stored key does not compute its public half again.
    package static func stored(
        _ publicKey: SigningPublicKey, _ secret: consuming SecretBytes
    ) -> SigningPrivateKey {
        SigningPrivateKey(publicKey, secret)
    }

    /// Checks that an RSA key's numbers belong together, that its factors are two primes of about the same
    /// size that are not close to each other, and that it signs.
    private func checkNumbers() throws(CofferError) {
        try RSASignature.check(privateKey: secret)
        let message: [UInt8] = [1]
        let signature = try sign(message.span, scheme: .rsaPSSSHA256)
        guard try publicKey.isValid(signature: signature.span, for: message.span, scheme: .rsaPSSSHA256)
        else { throw CofferError(.invalidInput, "The numbers of the RSA key do not belong together.") }
    }

    /// Returns the signature of a message.
    ///
    /// - Parameters:
    ///   - message: The message itself, not its digest.
    ///   - scheme: A scheme of the key's algorithm.
    /// - Returns: The signature, in the form that ``SigningScheme`` describes.
    /// - Throws: `invalidInput` if the scheme is another algorithm's.
    public func sign(_ message: Span<UInt8>, scheme: SigningScheme) throws(CofferError) -> [UInt8] {
        switch (publicKey, scheme) {
        case (.ed25519, .ed25519): return try Ed25519Binding.sign(message, seed: secret.guarded.span)
        case (.p256, .ecdsa): return try ECDSAP256.sign(message, privateKey: secret)
        case (.p384, .ecdsa): return try ECDSAP384.sign(message, privateKey: secret)
        case (.rsa, _):
            guard let (padding, digest) = scheme.rsa else { fallthrough }
            return try RSASignature.sign(message, privateKey: secret, padding: padding, digest: digest)
        default:
            throw CofferError(
                .invalidInput, "A key for \(publicKey.algorithm.name) makes no signatures of this scheme.")
        }
    }
}
