import COpenSSL

/// OpenSSL's parameter lists, built where they are used.
///
/// A list holds addresses, of names as of values, and they must outlive the call that reads it. The names in
/// OpenSSL's headers come over as Swift strings, whose address is gone as soon as the parameter is made; here they
/// are constants.
enum Parameters {
    /// The names in use, as in `openssl/core_names.h`.
    enum Name {
        case digest, mode, key, salt, info

        fileprivate var constant: StaticString {
            switch self {
            case .digest: "digest"
            case .mode: "mode"
            case .key: "key"
            case .salt: "salt"
            case .info: "info"
            }
        }
    }

    /// The name of a hash function.
    static func digest(_ digest: DigestAlgorithm) -> OSSL_PARAM {
        let value = unsafe UnsafeMutablePointer(mutating: address(digest.name))
        return unsafe OSSL_PARAM_construct_utf8_string(address(Name.digest.constant), value, 0)
    }

    /// A number, kept by the caller.
    static func number(_ name: Name, _ value: UnsafeMutablePointer<Int32>) -> OSSL_PARAM {
        unsafe OSSL_PARAM_construct_int(address(name.constant), value)
    }

    /// A byte string; an empty one gets an address all the same, as OpenSSL refuses a null one.
    static func octets(_ name: Name, _ bytes: UnsafeRawBufferPointer) -> OSSL_PARAM {
        let name = unsafe address(name.constant)
        let start = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress ?? UnsafeRawPointer(name))
        return unsafe OSSL_PARAM_construct_octet_string(name, start, bytes.count)
    }

    /// Gives `body` a list with the digest's name alone.
    static func withDigest<R>(_ digest: DigestAlgorithm, _ body: (UnsafePointer<OSSL_PARAM>) -> R) -> R {
        let list = unsafe [self.digest(digest), OSSL_PARAM_construct_end()]
        return unsafe body(list)
    }

    /// Literals end with a zero and stay where they are.
    private static func address(_ text: StaticString) -> UnsafePointer<CChar> {
        unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
