package import CofferBase
import COpenSSL
import CSodium

/// Key derivation by one call into the peer's library.
package enum BaselineDerivation {
    /// PBKDF2-HMAC-SHA256 by OpenSSL's `PKCS5_PBKDF2_HMAC`.
    package static func pbkdf2SHA256(
        secret: [UInt8], salt: [UInt8], rounds: Int, count: Int
    ) throws(CofferError) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: count)
        let status = unsafe secret.withUnsafeBytes { secret in
            unsafe PKCS5_PBKDF2_HMAC(
                secret.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(secret.count), salt,
                Int32(salt.count), Int32(rounds), EVP_sha256(), Int32(count), &output)
        }
        try PeerFailure.check(status == 1, "PKCS5_PBKDF2_HMAC")
        return output
    }

    /// Argon2id by libsodium's `crypto_pwhash`.
    package static func argon2id(
        secret: [UInt8], salt: [UInt8], passes: Int, memoryBytes: Int, count: Int
    ) throws(CofferError) -> [UInt8] {
        try PeerFailure.check(sodium_init() >= 0, "sodium_init")
        var output = [UInt8](repeating: 0, count: count)
        let status = unsafe secret.withUnsafeBytes { secret in
            guard let text = secret.baseAddress else { return -1 }
            return unsafe Int(
                crypto_pwhash_argon2id(
                    &output, UInt64(count), text.assumingMemoryBound(to: CChar.self), UInt64(secret.count),
                    salt, UInt64(passes), memoryBytes, crypto_pwhash_argon2id_ALG_ARGON2ID13))
        }
        try PeerFailure.check(status == 0, "crypto_pwhash_argon2id")
        return output
    }
}
