package import CofferBase
import COpenSSL

/// The two exponents of an RSA key that protocols without room for them leave out, such as that of SSH
/// agents: d mod (p - 1) and d mod (q - 1), as RFC 8017 stores them.
package enum RSAKeyCompletion {
    /// Returns `exponent` mod (`prime` - 1), with the highest byte first and without zero bytes in front.
    ///
    /// - Throws: `invalidInput` if a number is empty or too long, or if the prime is not odd and above 2.
    package static func exponent(
        _ exponent: Span<UInt8>, modulo prime: Span<UInt8>
    ) throws(CofferError) -> GuardedBytes {
        guard 1...largest ~= exponent.count, 1...largest ~= prime.count, prime[prime.count - 1] & 1 == 1,
            prime.count > 1 || prime[0] > 2
        else { throw CofferError(.invalidInput, "The RSA key is not valid.") }
        OpenSSLAlgorithm.keepEverythingAtExit()
        guard let context = unsafe BN_CTX_secure_new() else {
            throw OpenSSLFailure.unexpected("BN_CTX_secure_new")
        }
        defer { unsafe BN_CTX_free(context) }
        let number = try SecretNumber(exponent)
        let modulus = try SecretNumber(prime)
        let rest = try SecretNumber([UInt8](repeating: 0, count: 1).span)
        guard unsafe BN_sub_word(modulus.pointer, 1) == 1,
            unsafe BN_div(nil, rest.pointer, number.pointer, modulus.pointer, context) == 1
        else { throw OpenSSLFailure.unexpected("BN_div") }
        return try rest.bytes()
    }

    /// The number of bytes of the largest modulus.
    private static let largest = 1024
}
