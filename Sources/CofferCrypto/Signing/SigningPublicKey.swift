public import CofferBase
import CofferEngine

/// The public half of a key pair for signatures.
public enum SigningPublicKey: Sendable, Hashable {
    /// An Ed25519 public key of 32 bytes.
    case ed25519([UInt8])
    /// An uncompressed point of P-256, 65 bytes.
    case p256([UInt8])
    /// An uncompressed point of P-384, 97 bytes.
    case p384([UInt8])
    /// An RSA key.
    case rsa(RSASignature.PublicKey)

    /// The key's algorithm.
    public var algorithm: SigningAlgorithm {
        switch self {
        case .ed25519: .ed25519
        case .p256: .p256
        case .p384: .p384
        case .rsa: .rsa
        }
    }

    /// The key's size in bits: that of the curve or of the modulus.
    public var size: Int {
        switch self {
        case .ed25519, .p256: 256
        case .p384: 384
        case .rsa(let key): key.size
        }
    }

    /// Checks the key: the size, that a point is on its curve, and that an RSA key has at most 4096 bits.
    ///
    /// - Throws: `invalidInput` if the key cannot be used.
    public func check() throws(CofferError) {
        let isSound =
            switch self {
            case .ed25519(let bytes): bytes.count == Ed25519.keySize
            case .p256(let point): ECDSAP256.isPublicKey(point.span)
            case .p384(let point): ECDSAP384.isPublicKey(point.span)
            case .rsa(let key): key.size <= SigningPrivateKey.largestModulus
            }
        guard isSound else {
            throw CofferError(
                .invalidInput,
                "The public key is not one for Ed25519, P-256, P-384, or RSA with 2048 to 4096 bits.")
        }
    }

    /// Returns whether a signature is valid. A scheme of another algorithm's is not.
    ///
    /// - Parameters:
    ///   - signature: The signature, in the form that ``SigningScheme`` describes.
    ///   - message: The message.
    ///   - scheme: The scheme.
    /// - Returns: Whether the signature is valid.
    /// - Throws: `internalFailure` if the underlying library fails.
    public func isValid(
        signature: Span<UInt8>, for message: Span<UInt8>, scheme: SigningScheme
    ) throws(CofferError) -> Bool {
        switch (self, scheme) {
        case (.ed25519(let key), .ed25519):
            return try Ed25519.isValid(signature: signature, for: message, publicKey: key.span)
        case (.p256(let point), .ecdsa):
            return try ECDSAP256.isValid(signature: signature, for: message, publicKey: point.span)
        case (.p384(let point), .ecdsa):
            return try ECDSAP384.isValid(signature: signature, for: message, publicKey: point.span)
        case (.rsa(let key), _):
            guard let (padding, digest) = scheme.rsa else { return false }
            return try RSASignature.isValid(
                signature: signature, for: message, publicKey: key, padding: padding, digest: digest)
        default: return false
        }
    }

    /// The key as a DER-encoded SubjectPublicKeyInfo (RFC 5280, RFC 8410).
    public var subjectPublicKeyInfo: [UInt8] {
        let identifier: [UInt8] =
            switch self {
            case .ed25519: [0x06, 0x03, 0x2B, 0x65, 0x70]
            case .p256: Self.elliptic + [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
            case .p384: Self.elliptic + [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22]
            case .rsa: [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00]
            }
        let algorithm = DERWriter.element(0x30, identifier)
        return DERWriter.element(0x30, algorithm + DERWriter.element(0x03, bitString))
    }

    /// The content of the bit string that DER has for the key.
    var bitString: [UInt8] {
        switch self {
        case .ed25519(let bytes), .p256(let bytes), .p384(let bytes): return [0] + bytes
        case .rsa(let key):
            let numbers = DERWriter.positive(key.modulus) + DERWriter.positive(key.exponent)
            return [0] + DERWriter.element(0x30, numbers)
        }
    }

    /// The identifier of elliptic curves' public keys.
    private static let elliptic: [UInt8] = [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]

    /// Returns the key in PEM (RFC 7468).
    ///
    /// - Throws: `outOfMemory` if no memory is available.
    public func pem() throws(CofferError) -> String {
        let text = try Encoding.base64Text(subjectPublicKeyInfo)
        var lines = ["-----BEGIN PUBLIC KEY-----"]
        for start in stride(from: 0, to: text.count, by: 64) {
            lines.append(String(decoding: text[start..<min(start + 64, text.count)], as: UTF8.self))
        }
        return (lines + ["-----END PUBLIC KEY-----", ""]).joined(separator: "\n")
    }
}

extension SigningScheme {
    /// The padding and the hash function of an RSA scheme; `nil` for another one.
    var rsa: (padding: RSASignature.Padding, digest: SignatureDigest)? {
        switch self {
        case .ed25519, .ecdsa: nil
        case .rsaSHA256: (.pkcs1, .sha256)
        case .rsaSHA512: (.pkcs1, .sha512)
        case .rsaPSSSHA256: (.pss, .sha256)
        }
    }
}
