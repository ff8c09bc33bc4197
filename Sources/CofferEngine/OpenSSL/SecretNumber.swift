import COpenSSL
import CofferBase

/// The owner of a secret number of OpenSSL's, which is cleared when it is freed.
@safe final class SecretNumber {
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

    /// Returns a number for a result.
    static func zero() throws(CofferError) -> SecretNumber {
        try SecretNumber([UInt8](repeating: 0, count: 1).span)
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
