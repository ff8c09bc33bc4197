package import CofferBase
import COpenSSL

/// Diffie-Hellman in the Second Oakley Group (RFC 2409 section 6.2), computed by OpenSSL's big numbers with
/// a constant-time exponentiation.
package enum DHGroup2Binding {
    /// The size in bytes of the prime, and of every value that this binding writes.
    package static let size = 128

    /// Writes 2 to the power of `exponent`, modulo the prime, to `output`.
    package static func publicValue(
        _ exponent: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        let generator: [UInt8] = [2]
        try power(generator.span, exponent, into: &output)
    }

    /// Writes the peer's value to the power of `exponent`, modulo the prime, to `output`.
    ///
    /// - Throws: `invalidInput` unless the peer's value is from 2 to the prime less 2, in at most ``size``
    ///   bytes.
    package static func sharedValue(
        _ peer: Span<UInt8>, _ exponent: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard peer.count <= size, isValid(peer) else {
            throw CofferError(.invalidInput, "The peer's Diffie-Hellman value is not in the group's range.")
        }
        try power(peer, exponent, into: &output)
    }

    private static func isValid(_ peer: Span<UInt8>) -> Bool {
        guard let prime = unsafe BN_get_rfc2409_prime_1024(nil) else { return false }
        defer { unsafe BN_free(prime) }
        guard let value = unsafe number(peer) else { return false }
        defer { unsafe BN_free(value) }
        guard unsafe BN_sub_word(prime, 1) == 1 else { return false }
        return unsafe BN_is_zero(value) == 0 && BN_is_one(value) == 0 && BN_cmp(value, prime) < 0
    }

    private static func number(_ bytes: Span<UInt8>) -> OpaquePointer? {
        unsafe bytes.withPointer { unsafe BN_bin2bn($0, CInt(bytes.count), nil) }
    }

    private static func power(
        _ base: Span<UInt8>, _ exponent: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard output.count == size else { throw CofferError.wrongOutputSize }
        let context = unsafe BN_CTX_secure_new()
        let prime = unsafe BN_get_rfc2409_prime_1024(nil)
        let base = unsafe number(base)
        let result = unsafe BN_secure_new()
        let secret = unsafe BN_secure_new()
        defer {
            unsafe BN_clear_free(secret)
            unsafe BN_clear_free(result)
            unsafe BN_clear_free(base)
            unsafe BN_free(prime)
            unsafe BN_CTX_free(context)
        }
        guard unsafe context != nil && prime != nil && base != nil && result != nil && secret != nil,
            unsafe exponent.withPointer({ unsafe BN_bin2bn($0, CInt(exponent.count), secret) }) != nil
        else { throw OpenSSLFailure.unexpected("BN_bin2bn") }
        unsafe BN_set_flags(secret, BN_FLG_CONSTTIME)
        guard unsafe BN_mod_exp_mont_consttime(result, base, secret, prime, context, nil) == 1 else {
            throw OpenSSLFailure.unexpected("BN_mod_exp_mont_consttime")
        }
        let written = unsafe output.withPointer { unsafe BN_bn2binpad(result, $0, CInt(size)) }
        guard written == CInt(size) else { throw OpenSSLFailure.unexpected("BN_bn2binpad") }
    }
}
