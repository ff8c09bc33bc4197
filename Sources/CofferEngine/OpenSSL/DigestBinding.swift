package import CofferBase
import COpenSSL

/// The SHA-1 and SHA-2 digests (FIPS 180-4), computed by OpenSSL.
package enum DigestAlgorithm: Sendable, CaseIterable {
    case sha1, sha224, sha256, sha384, sha512

    /// The digest's size in bytes.
    package var size: Int {
        switch self {
        case .sha1: 20
        case .sha224: 28
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    var evp: OpaquePointer? {
        switch self {
        case .sha1: unsafe OpenSSLAlgorithm.sha1.pointer
        case .sha224: unsafe OpenSSLAlgorithm.sha224.pointer
        case .sha256: unsafe OpenSSLAlgorithm.sha256.pointer
        case .sha384: unsafe OpenSSLAlgorithm.sha384.pointer
        case .sha512: unsafe OpenSSLAlgorithm.sha512.pointer
        }
    }

    /// The digest's name in OpenSSL's parameters.
    var name: StaticString {
        switch self {
        case .sha1: "SHA1"
        case .sha224: "SHA224"
        case .sha256: "SHA256"
        case .sha384: "SHA384"
        case .sha512: "SHA512"
        }
    }
}

/// A digest computation that accepts its input in pieces.
package struct DigestContext: ~Copyable, Sendable {
    private let context: Handle
    private let algorithm: DigestAlgorithm

    /// The owner of an OpenSSL digest context. The `@unchecked Sendable` conformance is safe because only the
    /// noncopyable ``DigestContext`` uses the pointer, with exclusive access.
    @safe private final class Handle: @unchecked Sendable {
        let pointer: OpaquePointer
        init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }
        deinit { unsafe EVP_MD_CTX_free(pointer) }
    }

    private init(context: Handle, algorithm: DigestAlgorithm) {
        self.context = context
        self.algorithm = algorithm
    }

    package static func make(_ algorithm: DigestAlgorithm) throws(CofferError) -> DigestContext {
        guard let pointer = unsafe EVP_MD_CTX_new() else { throw OpenSSLFailure.unexpected("EVP_MD_CTX_new") }
        let handle = unsafe Handle(pointer)
        guard unsafe EVP_DigestInit_ex(pointer, algorithm.evp, nil) == 1 else {
            throw OpenSSLFailure.unexpected("EVP_DigestInit_ex")
        }
        return DigestContext(context: handle, algorithm: algorithm)
    }

    /// Adds `bytes` to the input.
    package mutating func update(_ bytes: Span<UInt8>) throws(CofferError) {
        let context = context
        let status = unsafe bytes.withUnsafeBytes { bytes in
            unsafe EVP_DigestUpdate(context.pointer, bytes.baseAddress, bytes.count)
        }
        guard status == 1 else { throw OpenSSLFailure.unexpected("EVP_DigestUpdate") }
    }

    /// Writes the digest to `output`, which must be exactly as long as the digest.
    package consuming func finish(into output: inout MutableSpan<UInt8>) throws(CofferError) {
        guard output.count == algorithm.size else { throw CofferError.wrongOutputSize }
        let context = context
        let status = unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe EVP_DigestFinal_ex(context.pointer, output.baseAddress, nil)
        }
        guard status == 1 else { throw OpenSSLFailure.unexpected("EVP_DigestFinal_ex") }
    }
}
