package import CofferBase
import COpenSSL

/// HMAC (RFC 2104, FIPS 198-1) with OpenSSL.
package enum HMACBinding {
    /// Writes the full-length tag for `message` to `output`.
    package static func authenticate(
        _ message: Span<UInt8>, key: Span<UInt8>, digest: DigestAlgorithm,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        var context = try HMACContext.make(key: key, digest: digest)
        try context.update(message)
        try context.finish(into: &output)
    }
}

/// An HMAC computation that accepts its input in pieces.
package struct HMACContext: ~Copyable, Sendable {
    let handle: Handle
    private let digest: DigestAlgorithm

    /// The owner of an OpenSSL MAC context. The `@unchecked Sendable` conformance is safe because only the
    /// noncopyable ``HMACContext`` uses the pointer, with exclusive access.
    @safe final class Handle: @unchecked Sendable {
        let pointer: OpaquePointer
        init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }
        deinit { unsafe EVP_MAC_CTX_free(pointer) }

        func update(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Bool {
            unsafe EVP_MAC_update(pointer, bytes, count) == 1
        }
    }

    private init(handle: Handle, digest: DigestAlgorithm) {
        self.handle = handle
        self.digest = digest
    }

    /// Starts an HMAC computation under `key`, which may have any length.
    package static func make(key: Span<UInt8>, digest: DigestAlgorithm) throws(CofferError) -> HMACContext {
        guard let pointer = unsafe EVP_MAC_CTX_new(OpenSSLAlgorithm.hmac.pointer) else {
            throw OpenSSLFailure.unexpected("EVP_MAC_CTX_new")
        }
        let handle = unsafe Handle(pointer)
        let started = unsafe OSSLParameters.withDigest(digest) { parameters in
            unsafe key.withUnsafeBufferPointer { key in
                var none: UInt8 = 0
                return unsafe withUnsafePointer(to: &none) { empty in
                    unsafe EVP_MAC_init(pointer, key.baseAddress ?? empty, key.count, parameters) == 1
                }
            }
        }
        guard started else { throw OpenSSLFailure.unexpected("EVP_MAC_init") }
        return HMACContext(handle: handle, digest: digest)
    }

    /// Discards the bytes added so far, but keeps the key.
    package mutating func restart() throws(CofferError) {
        guard unsafe EVP_MAC_init(handle.pointer, nil, 0, nil) == 1 else {
            throw OpenSSLFailure.unexpected("EVP_MAC_init")
        }
    }

    /// Adds `bytes` to the message.
    package mutating func update(_ bytes: Span<UInt8>) throws(CofferError) {
        guard bytes.count > 0 else { return }
        let handle = handle
        let added = unsafe bytes.withPointer { unsafe handle.update($0, bytes.count) }
        guard added else { throw OpenSSLFailure.unexpected("EVP_MAC_update") }
    }

    /// Writes the tag to `output`, which must be exactly as long as the digest. Afterwards, either call
    /// ``restart()`` or release the context.
    package mutating func finish(into output: inout MutableSpan<UInt8>) throws(CofferError) {
        guard output.count == digest.size else { throw CofferError.wrongOutputSize }
        let handle = handle
        let status = unsafe output.withUnsafeMutableBufferPointer { output in
            var written = 0
            return unsafe EVP_MAC_final(handle.pointer, output.baseAddress, &written, output.count)
        }
        guard status == 1 else { throw OpenSSLFailure.unexpected("EVP_MAC_final") }
    }
}
