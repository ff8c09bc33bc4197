package import CofferBase
import COpenSSL

/// RSA signatures with SHA-256 or SHA-512 (RFC 8017), computed by OpenSSL.
package enum RSABinding {
    /// The padding of a signature.
    package enum Padding: Sendable {
        /// RSASSA-PKCS1-v1_5.
        case pkcs1
        /// RSASSA-PSS with MGF1 over the same hash function, and a salt as long as the digest.
        case pss

        fileprivate var scheme: SignatureContext.Scheme {
            switch self {
            case .pkcs1: .rsaPKCS1
            case .pss: .rsaPSS
            }
        }
    }

    /// The places of a key's numbers in a buffer. Each has its highest byte first, and none is empty.
    package struct Numbers: Sendable {
        package let modulus: Range<Int>
        package let publicExponent: Range<Int>
        /// The private exponent, the two primes, the two exponents and the coefficient; empty for a public
        /// key.
        package let secret: [Range<Int>]

        package init(modulus: Range<Int>, publicExponent: Range<Int>, secret: [Range<Int>] = []) {
            self.modulus = modulus
            self.publicExponent = publicExponent
            self.secret = secret
        }
    }

    /// The number of private numbers that a key pair has.
    package static let secretCount = 6

    private static let names: [StaticString] = [
        "n", "e", "d", "rsa-factor1", "rsa-factor2", "rsa-exponent1", "rsa-exponent2", "rsa-coefficient1",
    ]

    /// Returns the signature of `message` by the key pair with `numbers` in `key`.
    package static func sign(
        _ message: Span<UInt8>, key: Span<UInt8>, _ numbers: Numbers, _ padding: Padding,
        _ digest: SignatureDigest = .sha256
    ) throws(CofferError) -> [UInt8] {
        try SignatureContext.sign(message, try keyPair(key, numbers), padding.scheme, digest)
    }

    /// Returns the signature of the message with this digest, which is one of the hash function `function`.
    package static func sign(
        digest: Span<UInt8>, of function: SignatureDigest, key: Span<UInt8>, _ numbers: Numbers,
        _ padding: Padding
    ) throws(CofferError) -> [UInt8] {
        try DigestSignature.sign(digest, try keyPair(key, numbers), padding.scheme, function)
    }

    /// Returns OpenSSL's key with the numbers of a key pair.
    static func keyPair(_ key: Span<UInt8>, _ numbers: Numbers) throws(CofferError) -> SignatureKey {
        guard numbers.secret.count == secretCount, let pair = try make(key, numbers) else {
            throw CofferError(.invalidInput, "The RSA key is not valid.")
        }
        return pair
    }

    /// Returns whether `signature` is valid for `message` under the public key with `numbers` in `key`.
    /// Returns `false` if the signature is not as long as the modulus.
    package static func isValid(
        signature: Span<UInt8>, for message: Span<UInt8>, key: Span<UInt8>, _ numbers: Numbers,
        _ padding: Padding, _ digest: SignatureDigest = .sha256
    ) throws(CofferError) -> Bool {
        guard signature.count == numbers.modulus.count, let key = try make(key, numbers) else { return false }
        return try SignatureContext.isValid(signature, for: message, key, padding.scheme, digest)
    }

    /// Returns OpenSSL's key, made of a reversed copy of the buffer, because OpenSSL expects each number's
    /// lowest byte first.
    private static func make(_ bytes: Span<UInt8>, _ numbers: Numbers) throws(CofferError) -> SignatureKey? {
        let ranges = [numbers.modulus, numbers.publicExponent] + numbers.secret
        let size = bytes.count
        guard ranges.allSatisfy({ !$0.isEmpty && $0.upperBound <= size }) else { return nil }
        var reversed = try GuardedBytes.filled(count: size) { (span) throws(CofferError) in
            for index in 0..<size { span[index] = bytes[size - 1 - index] }
        }
        let parts: SignatureKey.Parts = numbers.secret.isEmpty ? .publicKey : .keyPair
        var span = reversed.mutableSpan
        return unsafe span.withPointer { (start) -> SignatureKey? in
            var list = unsafe [
                OSSLParameters.number(names[0], start + (size - ranges[0].upperBound), ranges[0].count)
            ]
            for (name, range) in zip(names, ranges).dropFirst() {
                unsafe list.append(
                    OSSLParameters.number(name, start + (size - range.upperBound), range.count))
            }
            return unsafe SignatureKey.make("RSA", parts, list)
        }
    }
}
