import COpenSSL
import CofferBase

/// A signature by OpenSSL of a message of which only the digest is known.
enum DigestSignature {
    /// Returns the signature.
    ///
    /// - Parameters:
    ///   - digest: The digest.
    ///   - key: The private key.
    ///   - scheme: The scheme.
    ///   - function: With RSA, the hash function that made the digest, which is then as long as its digests.
    /// - Returns: The signature; that of ECDSA is in DER.
    /// - Throws: `internalFailure` if OpenSSL fails.
    static func sign(
        _ digest: Span<UInt8>, _ key: SignatureKey, _ scheme: SignatureContext.Scheme,
        _ function: SignatureDigest? = nil
    ) throws(CofferError) -> [UInt8] {
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil) else {
            throw OpenSSLFailure.unexpected("EVP_PKEY_CTX_new_from_pkey")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe EVP_PKEY_sign_init(context) == 1 else {
            throw OpenSSLFailure.unexpected("EVP_PKEY_sign_init")
        }
        let isSet: Bool
        switch scheme {
        case .ecdsa: isSet = true
        case .rsaPKCS1:
            isSet = unsafe EVP_PKEY_CTX_set_rsa_padding(context, SignatureContext.pkcs1Padding) == 1
        case .rsaPSS:
            isSet =
                unsafe EVP_PKEY_CTX_set_rsa_padding(context, SignatureContext.pssPadding) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, SignatureContext.saltOfDigest) == 1
        }
        guard isSet, unsafe setFunction(function, context) else {
            throw OpenSSLFailure.unexpected("EVP_PKEY_CTX_set_rsa_padding")
        }
        var signature = [UInt8](repeating: 0, count: SignatureContext.largestSignature)
        var count = signature.count
        let status = unsafe digest.withPointer {
            unsafe EVP_PKEY_sign(context, &signature, &count, $0, digest.count)
        }
        guard status == 1, count <= signature.count else { throw OpenSSLFailure.unexpected("EVP_PKEY_sign") }
        signature.removeLast(signature.count - count)
        return signature
    }

    private static func setFunction(_ function: SignatureDigest?, _ context: OpaquePointer) -> Bool {
        switch function {
        case nil: true
        case .sha256: unsafe EVP_PKEY_CTX_set_signature_md(context, EVP_sha256()) == 1
        case .sha384: unsafe EVP_PKEY_CTX_set_signature_md(context, EVP_sha384()) == 1
        case .sha512: unsafe EVP_PKEY_CTX_set_signature_md(context, EVP_sha512()) == 1
        }
    }
}
