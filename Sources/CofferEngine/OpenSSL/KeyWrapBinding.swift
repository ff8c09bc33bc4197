package import CofferBase
import COpenSSL

/// AES Key Wrap (RFC 3394, NIST SP 800-38F) by OpenSSL.
package enum KeyWrapBinding {
    /// How many bytes a wrapped key is longer than the key.
    package static let overhead = 8

    /// Wraps `key`, a multiple of 8 bytes and at least 16, under a key of 16, 24 or 32 bytes.
    package static func wrap(_ key: Span<UInt8>, under wrappingKey: Span<UInt8>) throws(CofferError)
        -> [UInt8]
    {
        guard key.count >= 16, key.count % 8 == 0, key.count <= 4096 else {
            throw CofferError.wrongKeySize(key.count)
        }
        var wrapped = [UInt8](repeating: 0, count: key.count + overhead)
        var output = wrapped.mutableSpan
        guard try run(key, under: wrappingKey, encrypting: 1, into: &output) else {
            throw OpenSSLFailure.unexpected("AES key wrap")
        }
        return wrapped
    }

    /// Unwraps or throws `notAuthentic`.
    package static func unwrap(
        _ wrapped: Span<UInt8>, under wrappingKey: Span<UInt8>
    ) throws(CofferError) -> GuardedBytes {
        guard wrapped.count >= 24, wrapped.count % 8 == 0, wrapped.count <= 4104 else {
            throw CofferError.notAuthentic
        }
        return try GuardedBytes.filled(count: wrapped.count - overhead) { (key) throws(CofferError) in
            guard try run(wrapped, under: wrappingKey, encrypting: 0, into: &key) else {
                ERR_clear_error()
                throw CofferError.notAuthentic
            }
        }
    }

    private static func run(
        _ input: Span<UInt8>, under key: Span<UInt8>, encrypting: Int32, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) -> Bool {
        let cipher: OpaquePointer? =
            switch key.count {
            case 16: unsafe EVP_aes_128_wrap()
            case 24: unsafe EVP_aes_192_wrap()
            case 32: unsafe EVP_aes_256_wrap()
            default: nil
            }
        guard let cipher = unsafe cipher else { throw CofferError.wrongKeySize(key.count) }
        let context = try CipherContext.make()
        unsafe EVP_CIPHER_CTX_set_flags(context.pointer, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW)
        let started = unsafe key.withUnsafeBufferPointer {
            unsafe EVP_CipherInit_ex(context.pointer, cipher, nil, $0.baseAddress, nil, encrypting) == 1
        }
        let size = output.count
        return unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe input.withUnsafeBytes { input in
                unsafe started && context.update(input: input, output: output.baseAddress) == size
            }
        }
    }
}
