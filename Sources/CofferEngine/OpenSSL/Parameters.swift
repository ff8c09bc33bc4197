import COpenSSL

/// OpenSSL's parameter lists, built where they are used: their pointers must outlive the call.
enum Parameters {
    /// A list with the digest's name alone.
    static func withDigest<R>(
        _ digest: DigestAlgorithm, _ body: (UnsafePointer<OSSL_PARAM>) -> R
    ) -> R {
        let name = unsafe UnsafeMutablePointer(
            mutating: UnsafeRawPointer(digest.name.utf8Start)
                .assumingMemoryBound(to: CChar.self))
        let list = unsafe [
            OSSL_PARAM_construct_utf8_string(OSSL_ALG_PARAM_DIGEST, name, 0), OSSL_PARAM_construct_end(),
        ]
        return unsafe body(list)
    }

    /// A byte string; an empty one gets an address all the same, as OpenSSL refuses a null one.
    static func octets(_ name: UnsafePointer<CChar>, _ bytes: UnsafeRawBufferPointer) -> OSSL_PARAM {
        unsafe OSSL_PARAM_construct_octet_string(
            name, UnsafeMutableRawPointer(mutating: bytes.baseAddress ?? UnsafeRawPointer(name)), bytes.count)
    }
}
