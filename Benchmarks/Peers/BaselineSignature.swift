package import CofferBase
import COpenSSL

/// Signatures with SHA-256 as a C program would verify them: one key, prepared once.
@safe package final class BaselineSignature {
    /// The kind of key.
    package enum Algorithm: Sendable {
        /// RSA with a modulus of 2048 bits and PKCS #1 v1.5 padding.
        case rsa
        /// ECDSA over P-256.
        case ecdsa
    }

    private let algorithm: Algorithm
    private let key: OpaquePointer
    private let context: OpaquePointer

    /// Creates a new key.
    package init(_ algorithm: Algorithm) throws(CofferError) {
        self.algorithm = algorithm
        unsafe key = try Self.generate(algorithm)
        unsafe context = try PeerFailure.checked(EVP_MD_CTX_new(), "EVP_MD_CTX_new")
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
        unsafe EVP_PKEY_free(key)
    }

    private static func generate(_ algorithm: Algorithm) throws(CofferError) -> OpaquePointer {
        let name = algorithm == .rsa ? "RSA" : "EC"
        let setting = try unsafe PeerFailure.checked(
            EVP_PKEY_CTX_new_from_name(nil, name, nil), "EVP_PKEY_CTX_new_from_name")
        defer { unsafe EVP_PKEY_CTX_free(setting) }
        try PeerFailure.check(unsafe EVP_PKEY_keygen_init(setting) == 1, "EVP_PKEY_keygen_init")
        let isSet =
            switch algorithm {
            case .rsa: unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(setting, 2048) == 1
            case .ecdsa: unsafe EVP_PKEY_CTX_set_group_name(setting, "P-256") == 1
            }
        try PeerFailure.check(isSet, "choice of the key's size")
        var key: OpaquePointer?
        try PeerFailure.check(unsafe EVP_PKEY_generate(setting, &key) == 1, "EVP_PKEY_generate")
        return try unsafe PeerFailure.checked(key, "EVP_PKEY_generate")
    }

    /// The key pair as a PKCS #8 file in DER.
    package func privateKeyFile() throws(CofferError) -> [UInt8] {
        let information = try unsafe PeerFailure.checked(EVP_PKEY2PKCS8(key), "EVP_PKEY2PKCS8")
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
        let count = unsafe i2d_PKCS8_PRIV_KEY_INFO(information, nil)
        try PeerFailure.check(count > 0, "i2d_PKCS8_PRIV_KEY_INFO")
        var file = [UInt8](repeating: 0, count: Int(count))
        let written = unsafe file.withUnsafeMutableBufferPointer { buffer in
            var place = buffer.baseAddress
            return unsafe i2d_PKCS8_PRIV_KEY_INFO(information, &place)
        }
        try PeerFailure.check(written == count, "i2d_PKCS8_PRIV_KEY_INFO")
        return file
    }

    /// The form of a signature that OpenSSL expects: for ECDSA, the two numbers r and s of RFC 7518 in DER.
    package func converted(_ signature: [UInt8]) throws(CofferError) -> [UInt8] {
        guard algorithm == .ecdsa else { return signature }
        let half = signature.count / 2
        func number(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            let digits = Array(bytes.drop { $0 == 0 })
            let isNegative = (digits.first ?? 0x80) >= 0x80
            return [2, UInt8(digits.count + (isNegative ? 1 : 0))] + (isNegative ? [0] : []) + digits
        }
        let content = number(signature[..<half]) + number(signature[half...])
        return [0x30, UInt8(content.count)] + content
    }

    /// Returns whether every one of `times` verifications accepts the signature.
    package func accepts(_ signature: [UInt8], of message: [UInt8], times: Int) throws(CofferError) -> Bool {
        for _ in 0..<times {
            try PeerFailure.check(unsafe EVP_MD_CTX_reset(context) == 1, "EVP_MD_CTX_reset")
            let status = unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key)
            try PeerFailure.check(status == 1, "EVP_DigestVerifyInit")
            let verdict = unsafe EVP_DigestVerify(
                context, signature, signature.count, message, message.count)
            guard verdict == 1 else { return false }
        }
        return true
    }
}
