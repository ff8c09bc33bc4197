import COpenSSL

/// OpenSSL's parameter lists, built where they are used: their pointers must outlive the call.
///
/// The same holds for the names. Swift imports OpenSSL's macros for them as `String`, whose C form lives only
/// until the call that takes it returns, so the names are static text here.
enum OSSLParameters {
    /// OSSL_ALG_PARAM_DIGEST
    static let digest: StaticString = "digest"
    /// OSSL_ALG_PARAM_CIPHER
    static let cipher: StaticString = "cipher"
    /// OSSL_KDF_PARAM_MODE
    static let mode: StaticString = "mode"
    /// OSSL_KDF_PARAM_KEY
    static let key: StaticString = "key"
    /// OSSL_KDF_PARAM_INFO
    static let info: StaticString = "info"
    /// OSSL_KDF_PARAM_SALT
    static let salt: StaticString = "salt"

    /// A list with only the digest's name.
    static func withDigest<R>(
        _ digest: DigestAlgorithm, _ body: (UnsafePointer<OSSL_PARAM>) -> R
    ) -> R {
        let name = unsafe UnsafeMutablePointer(mutating: characters(digest.name))
        let list = unsafe [
            OSSL_PARAM_construct_utf8_string(characters(Self.digest), name, 0), OSSL_PARAM_construct_end(),
        ]
        return unsafe body(list)
    }

    /// A list with only a cipher's name.
    static func withCipher<R>(_ cipher: StaticString, _ body: (UnsafePointer<OSSL_PARAM>) -> R) -> R {
        let name = unsafe UnsafeMutablePointer(mutating: characters(cipher))
        let list = unsafe [
            OSSL_PARAM_construct_utf8_string(characters(Self.cipher), name, 0), OSSL_PARAM_construct_end(),
        ]
        return unsafe body(list)
    }

    /// A number stored at `value`.
    static func integer(_ name: StaticString, _ value: UnsafeMutablePointer<Int32>) -> OSSL_PARAM {
        unsafe OSSL_PARAM_construct_int(characters(name), value)
    }

    /// A byte string. An empty one gets a non-null address too, because OpenSSL rejects a null one.
    static func octets(_ name: StaticString, _ bytes: UnsafeRawBufferPointer) -> OSSL_PARAM {
        let name = unsafe characters(name)
        return unsafe OSSL_PARAM_construct_octet_string(
            name, UnsafeMutableRawPointer(mutating: bytes.baseAddress ?? UnsafeRawPointer(name)), bytes.count)
    }

    private static func characters(_ name: StaticString) -> UnsafePointer<CChar> {
        unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
