package import CofferBase
package import CofferEngine

/// The scheme of a signature that another program asks for with the digest of the message, and not with the
/// message itself. Only digests of SHA-256, SHA-384 and SHA-512 are signed.
package enum DigestScheme: Sendable, Hashable {
    /// ECDSA.
    case ecdsa
    /// RSASSA-PKCS1-v1_5.
    case rsaPKCS1(SignatureDigest)
    /// RSASSA-PSS with MGF1 over the same hash function, and a salt as long as the digest.
    case rsaPSS(SignatureDigest)

    /// Returns the bytes of `DigestInfo` (RFC 8017, section 9.2) before a digest.
    private static func beginning(of digest: SignatureDigest) -> [UInt8] {
        let number: UInt8 =
            switch digest {
            case .sha256: 0x01
            case .sha384: 0x02
            case .sha512: 0x03
            }
        let count = UInt8(digest.count)
        return [
            0x30, 0x11 + count, 0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
            number, 0x05, 0x00, 0x04, count,
        ]
    }

    /// Reads the input of a signature by RSASSA-PKCS1-v1_5 as PKCS #11 has it: a `DigestInfo` in DER.
    ///
    /// - Parameter info: The bytes.
    /// - Returns: The hash function and the digest; `nil` for another hash function, and for anything else.
    package static func read(digestInfo info: [UInt8]) -> (function: SignatureDigest, digest: [UInt8])? {
        for function in [SignatureDigest.sha256, .sha384, .sha512] {
            let beginning = beginning(of: function)
            guard info.count == beginning.count + function.count, info.starts(with: beginning) else {
                continue
            }
            return (function, Array(info.dropFirst(beginning.count)))
        }
        return nil
    }
}

extension SignatureDigest {
    /// The number of bytes of a digest.
    package var count: Int {
        switch self {
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }
}

extension SigningPrivateKey {
    /// Returns the signature of the message with a digest.
    ///
    /// - Parameters:
    ///   - digest: The digest.
    ///   - scheme: A scheme of the key's algorithm.
    /// - Returns: The signature, in the form that ``SigningScheme`` describes.
    /// - Throws: `invalidInput` if the scheme is another algorithm's, or if the digest has another size than
    ///   those of the hash function.
    package func sign(digest: Span<UInt8>, scheme: DigestScheme) throws(CofferError) -> [UInt8] {
        let sizes =
            switch scheme {
            case .ecdsa: [32, 48, 64]
            case .rsaPKCS1(let function), .rsaPSS(let function): [function.count]
            }
        guard sizes.contains(digest.count) else {
            throw CofferError(.invalidInput, "Only digests of SHA-256, SHA-384 and SHA-512 are signed.")
        }
        let key = secret.guarded.span
        switch (publicKey, scheme) {
        case (.p256, .ecdsa): return try ECDSABinding.sign(digest: digest, privateKey: key, .p256)
        case (.p384, .ecdsa): return try ECDSABinding.sign(digest: digest, privateKey: key, .p384)
        case (.rsa, .rsaPKCS1(let function)):
            return try RSABinding.sign(
                digest: digest, of: function, key: key, try RSASignature.numbers(of: secret), .pkcs1)
        case (.rsa, .rsaPSS(let function)):
            return try RSABinding.sign(
                digest: digest, of: function, key: key, try RSASignature.numbers(of: secret), .pss)
        default:
            throw CofferError(
                .invalidInput, "A key for \(publicKey.algorithm.name) makes no signatures of this scheme.")
        }
    }
}
