package import CofferBase
import COpenSSL

/// The check of an RSA key pair's numbers. Unlike OpenSSL's own check, it leaves no copy of them in memory
/// that is not cleared.
package enum RSAKeyCheck {
    /// Returns whether the numbers of a key pair belong together: the factors are prime (by OpenSSL's
    /// probabilistic test) and their product is the modulus, and the exponents and the coefficient are those
    /// of these factors (RFC 8017, section 3.2).
    ///
    /// - Throws: `outOfMemory`.
    package static func isConsistent(
        _ key: Span<UInt8>, _ numbers: RSABinding.Numbers
    ) throws(CofferError) -> Bool {
        guard numbers.secret.count == RSABinding.secretCount else { return false }
        OpenSSLAlgorithm.keepEverythingAtExit()
        guard let context = unsafe BN_CTX_secure_new() else {
            throw OpenSSLFailure.unexpected("BN_CTX_secure_new")
        }
        defer {
            unsafe BN_CTX_free(context)
            ERR_clear_error()
        }
        let known = try [numbers.modulus, numbers.publicExponent].map { (range) throws(CofferError) in
            try SecretNumber(key.extracting(range))
        }
        let secret = try numbers.secret.map { (range) throws(CofferError) in
            try SecretNumber(key.extracting(range))
        }
        let (p, q) = (secret[1], secret[2])
        let product = try SecretNumber.zero()
        guard unsafe BN_mul(product.pointer, p.pointer, q.pointer, context) == 1 else {
            throw OpenSSLFailure.unexpected("BN_mul")
        }
        let isWhole = unsafe BN_cmp(product.pointer, known[0].pointer) == 0
        for (prime, exponent) in [(p, secret[3]), (q, secret[4])] where isWhole {
            guard unsafe try isPrime(prime, context),
                unsafe try isExponent(exponent, secret[0], known[1], of: prime, context)
            else { return false }
        }
        guard isWhole else { return false }
        return unsafe try isInverse(secret[5], q, modulo: p, context)
    }

    private static func isPrime(_ number: SecretNumber, _ context: OpaquePointer) throws(CofferError) -> Bool
    {
        let result = unsafe BN_check_prime(number.pointer, context, nil)
        guard result >= 0 else { throw OpenSSLFailure.unexpected("BN_check_prime") }
        return result == 1
    }

    /// Returns whether `exponent` is d mod (p - 1), and d the inverse of e modulo (p - 1).
    private static func isExponent(
        _ exponent: SecretNumber, _ d: SecretNumber, _ e: SecretNumber, of prime: SecretNumber,
        _ context: OpaquePointer
    ) throws(CofferError) -> Bool {
        let (order, rest) = (try SecretNumber.zero(), try SecretNumber.zero())
        guard unsafe BN_copy(order.pointer, prime.pointer) != nil,
            unsafe BN_sub_word(order.pointer, 1) == 1,
            unsafe BN_div(nil, rest.pointer, d.pointer, order.pointer, context) == 1
        else { throw OpenSSLFailure.unexpected("BN_div") }
        guard unsafe BN_cmp(rest.pointer, exponent.pointer) == 0 else { return false }
        return unsafe try isInverse(exponent, e, modulo: order, context)
    }

    /// Returns whether the product of two numbers leaves one.
    private static func isInverse(
        _ one: SecretNumber, _ other: SecretNumber, modulo modulus: SecretNumber, _ context: OpaquePointer
    ) throws(CofferError) -> Bool {
        let product = try SecretNumber.zero()
        let status = unsafe BN_mod_mul(
            product.pointer, one.pointer, other.pointer, modulus.pointer, context)
        guard status == 1 else { throw OpenSSLFailure.unexpected("BN_mod_mul") }
        return unsafe BN_is_one(product.pointer) == 1
    }
}
