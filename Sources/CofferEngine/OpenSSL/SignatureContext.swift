import COpenSSL
import CofferBase

/// A signature of a message by OpenSSL, in one step.
@safe final class SignatureContext {
    /// The signature scheme; RSA has two.
    enum Scheme {
        case ecdsa
        case rsaPKCS1
        case rsaPSS
    }

    private let pointer: OpaquePointer

    private init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe EVP_MD_CTX_free(pointer) }

    /// The value of `RSA_PKCS1_PADDING`.
    static let pkcs1Padding: Int32 = 1
    /// The value of `RSA_PKCS1_PSS_PADDING`.
    static let pssPadding: Int32 = 6
    /// The value of `RSA_PSS_SALTLEN_DIGEST`: the salt is as long as the digest, and no other length
    /// verifies.
    static let saltOfDigest: Int32 = -1

    private static func make(
        _ key: SignatureKey, _ scheme: Scheme, _ digest: SignatureDigest, signing: Bool
    ) throws(CofferError) -> SignatureContext {
        guard let pointer = unsafe EVP_MD_CTX_new() else { throw OpenSSLFailure.unexpected("EVP_MD_CTX_new") }
        let context = unsafe SignatureContext(pointer)
        var options: OpaquePointer?
        let status =
            unsafe signing
            ? EVP_DigestSignInit_ex(pointer, &options, digest.rawValue, nil, nil, key.pointer, nil)
            : EVP_DigestVerifyInit_ex(pointer, &options, digest.rawValue, nil, nil, key.pointer, nil)
        guard status == 1 else { throw OpenSSLFailure.unexpected("EVP_DigestSignInit_ex") }
        let isSet: Bool
        switch scheme {
        case .ecdsa: isSet = true
        case .rsaPKCS1: isSet = unsafe EVP_PKEY_CTX_set_rsa_padding(options, pkcs1Padding) == 1
        case .rsaPSS:
            isSet =
                unsafe EVP_PKEY_CTX_set_rsa_padding(options, pssPadding) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(options, saltOfDigest) == 1
        }
        guard isSet else { throw OpenSSLFailure.unexpected("EVP_PKEY_CTX_set_rsa_padding") }
        return context
    }

    /// The largest signature: that of an RSA key of 8192 bits.
    static let largestSignature = 1024

    /// Returns the signature of `message`.
    static func sign(
        _ message: Span<UInt8>, _ key: SignatureKey, _ scheme: Scheme, _ digest: SignatureDigest = .sha256
    ) throws(CofferError) -> [UInt8] {
        let context = try make(key, scheme, digest, signing: true)
        var signature = [UInt8](repeating: 0, count: largestSignature)
        var count = signature.count
        let status = unsafe message.withPointer {
            unsafe EVP_DigestSign(context.pointer, &signature, &count, $0, message.count)
        }
        guard status == 1, count <= signature.count else { throw OpenSSLFailure.unexpected("EVP_DigestSign") }
        signature.removeLast(signature.count - count)
        return signature
    }

    /// Returns whether `signature` is valid for `message`.
    static func isValid(
        _ signature: Span<UInt8>, for message: Span<UInt8>, _ key: SignatureKey, _ scheme: Scheme,
        _ digest: SignatureDigest = .sha256
    ) throws(CofferError) -> Bool {
        let context = try make(key, scheme, digest, signing: false)
        let status = unsafe signature.withPointer { signed in
            unsafe message.withPointer { bytes in
                unsafe EVP_DigestVerify(context.pointer, signed, signature.count, bytes, message.count)
            }
        }
        if status != 1 { ERR_clear_error() }
        return status == 1
    }
}
