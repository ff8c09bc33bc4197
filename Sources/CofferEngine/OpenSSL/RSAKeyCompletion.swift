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

/// The owner of a secret number of OpenSSL's, which is cleared when it is freed.
@safe private final class SecretNumber {
    let pointer: OpaquePointer

    init(_ bytes: Span<UInt8>) throws(CofferError) {
        guard let number = unsafe BN_secure_new() else { throw OpenSSLFailure.unexpected("BN_secure_new") }
        unsafe BN_set_flags(number, BN_FLG_CONSTTIME)
        let isRead = unsafe bytes.withPointer { unsafe BN_bin2bn($0, Int32(bytes.count), number) != nil }
        guard isRead else {
            unsafe BN_clear_free(number)
            throw OpenSSLFailure.unexpected("BN_bin2bn")
        }
        unsafe pointer = number
    }

    deinit { unsafe BN_clear_free(pointer) }

    /// Returns the number in as few bytes as it takes, but at least one.
    func bytes() throws(CofferError) -> GuardedBytes {
        let count = max(1, Int(unsafe BN_num_bits(pointer) + 7) / 8)
        let number = unsafe pointer
        return try GuardedBytes.filled(count: count) { (span) throws(CofferError) in
            let written = unsafe span.withPointer { unsafe BN_bn2binpad(number, $0, Int32(count)) }
            guard written == Int32(count) else { throw OpenSSLFailure.unexpected("BN_bn2binpad") }
        }
    }
}
