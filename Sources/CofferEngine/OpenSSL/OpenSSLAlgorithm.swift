import COpenSSL

/// One of OpenSSL's algorithms, fetched once. With functions such as `EVP_aes_256_gcm()`, OpenSSL looks up
/// the implementation again for every context, which takes longer than encrypting a short message.
///
/// The `@unchecked Sendable` conformance is safe because an algorithm does not change after the fetch and is
/// never freed.
@safe package struct OpenSSLAlgorithm: @unchecked Sendable {
    /// The fetched algorithm, or `nil` if this OpenSSL build does not provide it.
    package let pointer: OpaquePointer?

    /// Whether OpenSSL keeps its memory when the program exits. By default, OpenSSL frees all of its memory
    /// while other threads may still use it, and the program crashes instead of ending with its own exit
    /// code. The first fetch disables that cleanup, unless other code in the program has already used
    /// OpenSSL. The kernel reclaims the memory.
    private static let keepsEverythingAtExit =
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

    /// Disables that cleanup for bindings that fetch no algorithm themselves.
    static func keepEverythingAtExit() { _ = keepsEverythingAtExit }

    /// Has OpenSSL start without what this package never uses and what takes longer to load than most
    /// commands take to encrypt: the texts of errors, and the table of ciphers and digests by name, which the
    /// first fetch fills although it does not read it. This package fetches every algorithm. A program calls
    /// this function before its first use of OpenSSL; a library must not, because its program may show these
    /// texts, or look algorithms up by name.
    package static func startWithoutTables() {
        let without =
            OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS | OPENSSL_INIT_NO_ADD_ALL_CIPHERS
            | OPENSSL_INIT_NO_ADD_ALL_DIGESTS
        _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT) | UInt64(without), nil)
    }

    private init(_ fetch: () -> OpaquePointer?) {
        _ = Self.keepsEverythingAtExit
        unsafe pointer = unsafe fetch()
    }

    private static func cipher(_ name: String) -> OpenSSLAlgorithm {
        unsafe OpenSSLAlgorithm { unsafe EVP_CIPHER_fetch(nil, name, nil) }
    }

    private static func digest(_ name: String) -> OpenSSLAlgorithm {
        unsafe OpenSSLAlgorithm { unsafe EVP_MD_fetch(nil, name, nil) }
    }

    static let aes128GCM = cipher("AES-128-GCM")
    static let aes192GCM = cipher("AES-192-GCM")
    static let aes256GCM = cipher("AES-256-GCM")
    static let chaCha20Poly1305 = cipher("ChaCha20-Poly1305")
    static let aes256ECB = cipher("AES-256-ECB")
    static let aes128Wrap = cipher("AES-128-WRAP")
    static let aes192Wrap = cipher("AES-192-WRAP")
    static let aes256Wrap = cipher("AES-256-WRAP")
    static let aes128WrapPadded = cipher("AES-128-WRAP-PAD")
    static let aes192WrapPadded = cipher("AES-192-WRAP-PAD")
    static let aes256WrapPadded = cipher("AES-256-WRAP-PAD")
    static let aes128CBC = cipher("AES-128-CBC")
    static let aes192CBC = cipher("AES-192-CBC")
    package static let aes256CBC = cipher("AES-256-CBC")
    static let aes128CTR = cipher("AES-128-CTR")
    static let aes192CTR = cipher("AES-192-CTR")
    package static let aes256CTR = cipher("AES-256-CTR")
    static let sha1 = digest("SHA1")
    static let sha224 = digest("SHA224")
    static let sha256 = digest("SHA256")
    static let sha384 = digest("SHA384")
    static let sha512 = digest("SHA512")
    static let cmac = unsafe OpenSSLAlgorithm { unsafe EVP_MAC_fetch(nil, "CMAC", nil) }
    package static let hmac = unsafe OpenSSLAlgorithm { unsafe EVP_MAC_fetch(nil, "HMAC", nil) }
    static let hkdf = unsafe OpenSSLAlgorithm { unsafe EVP_KDF_fetch(nil, "HKDF", nil) }
}
