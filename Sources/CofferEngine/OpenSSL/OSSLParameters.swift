import COpenSSL

/// OpenSSL's parameter lists, built where they are used because their pointers must stay valid during the
/// call.
///
/// The pointers to the names must stay valid, too. Swift imports OpenSSL's macros for the names as `String`,
/// whose C form is valid only during the call that receives it, so the names are static strings here.
enum OSSLParameters {
    /// The value of `OSSL_ALG_PARAM_DIGEST`.
    static let digest: StaticString = "digest"
    /// The value of `OSSL_ALG_PARAM_CIPHER`.
    static let cipher: StaticString = "cipher"
    /// The value of `OSSL_KDF_PARAM_MODE`.
    static let mode: StaticString = "mode"
    /// The value of `OSSL_KDF_PARAM_KEY`.
    static let key: StaticString = "key"
    /// The value of `OSSL_KDF_PARAM_INFO`.
    static let info: StaticString = "info"
    /// The value of `OSSL_KDF_PARAM_SALT`.
    static let salt: StaticString = "salt"

    /// The value of `OSSL_CIPHER_PARAM_AEAD_TAG`.
    static let tag: StaticString = "tag"

    /// The value of `OSSL_PKEY_PARAM_GROUP_NAME`.
    static let group: StaticString = "group"
    /// The value of `OSSL_PKEY_PARAM_PRIV_KEY`.
    static let privateKey: StaticString = "priv"
    /// The value of `OSSL_PKEY_PARAM_PUB_KEY`.
    static let publicKey: StaticString = "pub"

    /// Calls `body` with a parameter list that contains only the digest's name.
    static func withDigest<R>(
        _ digest: DigestAlgorithm, _ body: (UnsafePointer<OSSL_PARAM>) -> R
    ) -> R {
        let name = unsafe UnsafeMutablePointer(mutating: characters(digest.name))
        let list = unsafe [
            OSSL_PARAM_construct_utf8_string(characters(Self.digest), name, 0), OSSL_PARAM_construct_end(),
        ]
        return unsafe body(list)
    }

    /// Calls `body` with a parameter list that contains only a cipher's name.
    static func withCipher<R>(_ cipher: StaticString, _ body: (UnsafePointer<OSSL_PARAM>) -> R) -> R {
        let name = unsafe UnsafeMutablePointer(mutating: characters(cipher))
        let list = unsafe [
            OSSL_PARAM_construct_utf8_string(characters(Self.cipher), name, 0), OSSL_PARAM_construct_end(),
        ]
        return unsafe body(list)
    }

    /// The value of `OSSL_PARAM_UNMODIFIED`.
    private static let unmodified = -1

    /// Calls `body` with a parameter list that contains only the tag of a message, which OpenSSL reads or
    /// writes. Allocates no memory, because every message needs this list.
    @inline(__always)
    static func withTag<R>(
        _ tag: UnsafePointer<UInt8>, count: Int, _ body: (UnsafeMutablePointer<OSSL_PARAM>) -> R
    ) -> R {
        // OpenSSL's own functions for these values would be two calls for each message.
        var list = unsafe (
            OSSL_PARAM(
                key: characters(Self.tag), data_type: UInt32(OSSL_PARAM_OCTET_STRING),
                data: UnsafeMutableRawPointer(mutating: tag), data_size: count, return_size: unmodified),
            OSSL_PARAM()
        )
        return unsafe withUnsafeMutableBytes(of: &list) { list in
            unsafe body(list.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: OSSL_PARAM.self))
        }
    }

    /// Returns the parameter for the number at `value`.
    static func integer(_ name: StaticString, _ value: UnsafeMutablePointer<Int32>) -> OSSL_PARAM {
        unsafe OSSL_PARAM_construct_int(characters(name), value)
    }

    /// Returns the parameter for a byte string. Even for an empty string, the address in the parameter is not
    /// null, because OpenSSL rejects a null address.
    static func octets(_ name: StaticString, _ bytes: UnsafeRawBufferPointer) -> OSSL_PARAM {
        let name = unsafe characters(name)
        return unsafe OSSL_PARAM_construct_octet_string(
            name, UnsafeMutableRawPointer(mutating: bytes.baseAddress ?? UnsafeRawPointer(name)), bytes.count)
    }

    /// Returns the parameter for an unsigned number of `count` bytes, the lowest of which comes first.
    static func number(
        _ name: StaticString, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int
    ) -> OSSL_PARAM {
        unsafe OSSL_PARAM_construct_BN(characters(name), bytes, count)
    }

    /// Returns the parameter for a text.
    static func text(_ name: StaticString, _ value: StaticString) -> OSSL_PARAM {
        let value = unsafe UnsafeMutablePointer(mutating: characters(value))
        return unsafe OSSL_PARAM_construct_utf8_string(characters(name), value, 0)
    }

    private static func characters(_ name: StaticString) -> UnsafePointer<CChar> {
        unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
