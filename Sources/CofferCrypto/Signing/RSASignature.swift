public import CofferBase
import CofferEngine

/// RSA signatures with SHA-256 (RFC 8017), for protocols that prescribe them: RS256 and PS256 of JOSE.
///
/// Keys have 2048 to 8192 bits and an odd public exponent from 65537 to 2^64 - 1. A private key is the DER
/// encoding of its numbers (`RSAPrivateKey` in RFC 8017).
public enum RSASignature {
    /// The numbers of bits that a modulus may have.
    public static let modulusSizes = 2048...8192

    /// The padding of a signature.
    public enum Padding: Sendable, CaseIterable {
        /// RSASSA-PKCS1-v1_5.
        case pkcs1
        /// RSASSA-PSS with MGF1 over SHA-256 and a salt of 32 bytes; no other salt length is valid.
        case pss

        fileprivate var engine: RSABinding.Padding {
            switch self {
            case .pkcs1: .pkcs1
            case .pss: .pss
            }
        }
    }

    /// Returns the private key in a PKCS #8 file.
    ///
    /// - Parameter file: The contents of the file, in PEM or DER, not encrypted.
    /// - Returns: The private key.
    /// - Throws: `invalidInput` if the file does not contain an RSA key with two primes and permitted sizes,
    ///   or if its private and public numbers do not belong together.
    public static func privateKey(importing file: borrowing SecretBytes) throws(CofferError) -> SecretBytes {
        let key = SecretBytes(try PrivateKeyInfo.key(.rsa, in: file.guarded.span))
        let publicKey = try publicKey(privateKey: key)
        let message: [UInt8] = [1]
        let signature = try sign(message.span, privateKey: key, padding: .pss)
        guard
            try isValid(
                signature: signature.span, for: message.span, publicKey: publicKey, padding: .pss)
        else { throw notAKey }
        return key
    }

    private static var notAKey: CofferError {
        CofferError(
            .invalidInput,
            "The key is not an RSA key of 2048 to 8192 bits with two primes and an exponent from 65537."
        )
    }

    /// Returns the public key that belongs to `privateKey`.
    ///
    /// - Throws: `invalidInput` if the bytes are not a private key.
    public static func publicKey(privateKey: borrowing SecretBytes) throws(CofferError) -> PublicKey {
        let bytes = privateKey.guarded.span
        let numbers = try numbers(bytes)
        return try PublicKey(
            modulus: bytes.extracting(numbers.modulus).copied(),
            exponent: bytes.extracting(numbers.publicExponent).copied())
    }

    /// Returns the signature of `message`.
    ///
    /// - Throws: `invalidInput` if the bytes are not a private key.
    public static func sign(
        _ message: Span<UInt8>, privateKey: borrowing SecretBytes, padding: Padding
    ) throws(CofferError) -> [UInt8] {
        try sign(message, privateKey: privateKey, padding: padding, digest: .sha256)
    }

    /// Returns the signature of `message` with another hash function than SHA-256.
    static func sign(
        _ message: Span<UInt8>, privateKey: borrowing SecretBytes, padding: Padding, digest: SignatureDigest
    ) throws(CofferError) -> [UInt8] {
        let bytes = privateKey.guarded.span
        return try RSABinding.sign(message, key: bytes, try numbers(bytes), padding.engine, digest)
    }

    /// Returns whether `signature` is valid for `message` under `publicKey`. A signature that is not as long
    /// as the modulus is not valid.
    ///
    /// - Throws: `internalFailure` if the underlying library fails.
    public static func isValid(
        signature: Span<UInt8>, for message: Span<UInt8>, publicKey: PublicKey, padding: Padding
    ) throws(CofferError) -> Bool {
        try isValid(
            signature: signature, for: message, publicKey: publicKey, padding: padding, digest: .sha256)
    }

    /// Returns whether `signature` is valid for `message`, with another hash function than SHA-256.
    static func isValid(
        signature: Span<UInt8>, for message: Span<UInt8>, publicKey: PublicKey, padding: Padding,
        digest: SignatureDigest
    ) throws(CofferError) -> Bool {
        let size = publicKey.modulus.count
        let bytes = publicKey.modulus + publicKey.exponent
        let numbers = RSABinding.Numbers(modulus: 0..<size, publicExponent: size..<bytes.count)
        return try RSABinding.isValid(
            signature: signature, for: message, key: bytes.span, numbers, padding.engine, digest)
    }

    /// Checks that the numbers of a private key belong together, that the factors are prime, and that they
    /// are hard to find (FIPS 186-5, appendix A.1.3): each has about half of the modulus's bits, and they
    /// differ in the first 96 of them.
    ///
    /// - Throws: `invalidInput` if a check fails.
    static func check(privateKey: borrowing SecretBytes) throws(CofferError) {
        let bytes = privateKey.guarded.span
        let numbers = try numbers(bytes)
        let (first, second) = (numbers.secret[1], numbers.secret[2])
        let size = numbers.modulus.count
        let areBalanced = [first, second].allSatisfy { size <= $0.count * 2 + 4 && $0.count * 2 <= size + 4 }
        let top = 12
        guard areBalanced, first.count > top, second.count > top else { throw isWeak }
        let areClose =
            first.count == second.count
            && ConstantTime.equal(
                bytes.extracting(first.lowerBound..<first.lowerBound + top),
                bytes.extracting(second.lowerBound..<second.lowerBound + top))
        guard !areClose else { throw isWeak }
        guard try RSAKeyCheck.isConsistent(bytes, numbers) else {
            throw CofferError(.invalidInput, "The numbers of the RSA key do not belong together.")
        }
    }

    private static var isWeak: CofferError {
        CofferError(.invalidInput, "The primes of the RSA key are easy to find. Create another key.")
    }

    /// Returns the places of the numbers of a private key.
    static func numbers(of privateKey: borrowing SecretBytes) throws(CofferError) -> RSABinding.Numbers {
        try numbers(privateKey.guarded.span)
    }

    /// Returns the places of the numbers of a private key, after checking the public ones.
    private static func numbers(_ bytes: Span<UInt8>) throws(CofferError) -> RSABinding.Numbers {
        var file = DERReader(0..<bytes.count)
        guard let outer = file.element(DERReader.sequence, bytes), file.isAtEnd else { throw notAKey }
        var reader = DERReader(outer)
        guard reader.small(bytes) == 0, let modulus = reader.positive(bytes),
            let exponent = reader.positive(bytes),
            PublicKey.isPermitted(bytes.extracting(modulus), bytes.extracting(exponent))
        else { throw notAKey }
        var secret: [Range<Int>] = []
        for _ in 0..<RSABinding.secretCount {
            guard let number = reader.positive(bytes), number.count <= modulus.count else { throw notAKey }
            secret.append(number)
        }
        guard reader.isAtEnd else { throw notAKey }
        return RSABinding.Numbers(modulus: modulus, publicExponent: exponent, secret: secret)
    }
}
