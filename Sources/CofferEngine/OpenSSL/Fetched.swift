import COpenSSL

/// One of OpenSSL's algorithms, fetched once: with `EVP_aes_256_gcm()` and its like, OpenSSL looks the
/// implementation up again for every context, which costs more than a short message.
///
/// `@unchecked Sendable` holds because an algorithm does not change after the fetch and is never freed.
@safe struct Fetched: @unchecked Sendable {
    /// `nil` where this build of OpenSSL does not have the algorithm.
    let pointer: OpaquePointer?

    private static func cipher(_ name: String) -> Fetched {
        unsafe Fetched(pointer: EVP_CIPHER_fetch(nil, name, nil))
    }

    private static func digest(_ name: String) -> Fetched {
        unsafe Fetched(pointer: EVP_MD_fetch(nil, name, nil))
    }

    static let aes128GCM = cipher("AES-128-GCM")
    static let aes192GCM = cipher("AES-192-GCM")
    static let aes256GCM = cipher("AES-256-GCM")
    static let chaCha20Poly1305 = cipher("ChaCha20-Poly1305")
    static let aes256ECB = cipher("AES-256-ECB")
    static let aes128CBC = cipher("AES-128-CBC")
    static let aes192CBC = cipher("AES-192-CBC")
    static let aes256CBC = cipher("AES-256-CBC")
    static let aes128CTR = cipher("AES-128-CTR")
    static let aes192CTR = cipher("AES-192-CTR")
    static let aes256CTR = cipher("AES-256-CTR")
    static let sha1 = digest("SHA1")
    static let sha224 = digest("SHA224")
    static let sha256 = digest("SHA256")
    static let sha384 = digest("SHA384")
    static let sha512 = digest("SHA512")
}
