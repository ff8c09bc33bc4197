package import CofferBase
import COpenSSL

/// A computation of CMAC over AES (NIST SP 800-38B, RFC 4493) with OpenSSL.
package struct CMACContext: ~Copyable, Sendable {
    package static let tagSize = 16

    private let handle: Handle

    /// The owner of an OpenSSL MAC context. The `@unchecked Sendable` conformance is safe because only the
    /// noncopyable ``CMACContext`` uses the pointer, with exclusive access.
    @safe private final class Handle: @unchecked Sendable {
        let pointer: OpaquePointer
        init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }
        deinit { unsafe EVP_MAC_CTX_free(pointer) }
    }

    private init(handle: Handle) { self.handle = handle }

    /// Starts a CMAC computation under a key of 16, 24 or 32 bytes.
    package static func make(key: Span<UInt8>) throws(CofferError) -> CMACContext {
        let cipher: StaticString? =
            switch key.count {
            case 16: "AES-128-CBC"
            case 24: "AES-192-CBC"
            case 32: "AES-256-CBC"
            default: nil
            }
        guard let cipher else { throw CofferError.wrongKeySize(key.count) }
        guard let pointer = unsafe EVP_MAC_CTX_new(OpenSSLAlgorithm.cmac.pointer) else {
            throw OpenSSLFailure.unexpected("EVP_MAC_CTX_new")
        }
        let handle = unsafe Handle(pointer)
        let started = unsafe OSSLParameters.withCipher(cipher) { parameters in
            unsafe key.withUnsafeBufferPointer { key in
                unsafe EVP_MAC_init(pointer, key.baseAddress, key.count, parameters) == 1
            }
        }
        guard started else { throw OpenSSLFailure.unexpected("EVP_MAC_init") }
        return CMACContext(handle: handle)
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
        let added = unsafe bytes.withPointer { unsafe EVP_MAC_update(handle.pointer, $0, bytes.count) == 1 }
        guard added else { throw OpenSSLFailure.unexpected("EVP_MAC_update") }
    }

    /// Writes the tag to `output`, which must be 16 bytes long. Afterwards, either call ``restart()`` or
    /// release the context.
    package mutating func finish(into output: inout MutableSpan<UInt8>) throws(CofferError) {
        guard output.count == Self.tagSize else { throw CofferError.wrongOutputSize }
        let handle = handle
        let status = unsafe output.withUnsafeMutableBufferPointer { output in
            var written = 0
            return unsafe EVP_MAC_final(handle.pointer, output.baseAddress, &written, output.count)
        }
        guard status == 1 else { throw OpenSSLFailure.unexpected("EVP_MAC_final") }
    }
}
