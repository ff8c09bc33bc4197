public import CofferBase
import CofferEngine

/// A private key that signs tokens, in guarded memory, with its public key.
public struct JSONWebSigningKey: ~Copyable, Sendable {
    /// The algorithm of the signatures.
    public let algorithm: JSONWebToken.Algorithm
    /// The public key, with the name that tokens refer to.
    public let publicKey: JSONWebKey
    private let secret: SecretBytes

    private init(
        _ algorithm: JSONWebToken.Algorithm, _ publicKey: JSONWebKey, _ secret: consuming SecretBytes
    ) {
        self.algorithm = algorithm
        self.publicKey = publicKey
        self.secret = secret
    }

    /// Returns a new key for ES256.
    ///
    /// - Parameter keyID: The key's name.
    /// - Returns: The key.
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func generate(keyID: String? = nil) throws(CofferError) -> JSONWebSigningKey {
        try make(.es256, secret: try ECDSAP256.generate(), keyID: keyID)
    }

    /// Returns the key in a PKCS #8 file.
    ///
    /// - Parameters:
    ///   - file: The contents of the file, in PEM or DER, not encrypted.
    ///   - algorithm: The algorithm of the signatures.
    ///   - keyID: The key's name.
    /// - Returns: The key.
    /// - Throws: `invalidInput` if the file does not contain a private key for the algorithm.
    public static func importing(
        _ file: borrowing SecretBytes, algorithm: JSONWebToken.Algorithm, keyID: String? = nil
    ) throws(CofferError) -> JSONWebSigningKey {
        switch algorithm {
        case .es256:
            return try make(algorithm, secret: try ECDSAP256.privateKey(importing: file), keyID: keyID)
        case .rs256, .ps256:
            return try make(algorithm, secret: try RSASignature.privateKey(importing: file), keyID: keyID)
        case .edDSA:
            let inner = try PrivateKeyInfo.key(.ed25519, in: file.guarded.span)
            var reader = DERReader(0..<inner.count)
            guard let seed = reader.element(DERReader.octets, inner.span), reader.isAtEnd else {
                throw CofferError(.invalidInput, "The file does not contain an Ed25519 private key.")
            }
            return try make(
                algorithm, secret: SecretBytes(try GuardedBytes.copying(inner.span.extracting(seed))),
                keyID: keyID)
        }
    }

    /// Returns the key of private bytes, as ``exposing(_:)`` gives them.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm of the signatures.
    ///   - secret: The 32 bytes of a P-256 key or of an Ed25519 seed, or the DER encoding of an RSA key's
    ///     numbers.
    ///   - keyID: The key's name.
    /// - Returns: The key.
    /// - Throws: `invalidInput` if the bytes are not a private key for the algorithm.
    public static func make(
        _ algorithm: JSONWebToken.Algorithm, secret: consuming SecretBytes, keyID: String? = nil
    ) throws(CofferError) -> JSONWebSigningKey {
        let material: JSONWebKey.Material
        switch algorithm {
        case .es256: material = .p256(try ECDSAP256.publicKey(privateKey: secret))
        case .rs256, .ps256: material = .rsa(try RSASignature.publicKey(privateKey: secret))
        case .edDSA:
            let seed = try SymmetricKey.copying(secret.guarded.span)
            material = .ed25519(try Ed25519.publicKey(seed: seed))
        }
        let publicKey = try JSONWebKey(material, keyID: keyID, algorithm: algorithm)
        return JSONWebSigningKey(algorithm, publicKey, secret)
    }

    /// Calls `body` with the private bytes, to store them. Copies that `body` makes are not guarded.
    public func exposing<Result: ~Copyable, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try secret.exposing(body)
    }

    /// Returns the signature of `message`.
    func sign(_ message: Span<UInt8>) throws(CofferError) -> [UInt8] {
        switch algorithm {
        case .es256: return try ECDSAP256.sign(message, privateKey: secret)
        case .rs256: return try RSASignature.sign(message, privateKey: secret, padding: .pkcs1)
        case .ps256: return try RSASignature.sign(message, privateKey: secret, padding: .pss)
        case .edDSA:
            let seed = try SymmetricKey.copying(secret.guarded.span)
            return try Ed25519.sign(message, seed: seed)
        }
    }
}
