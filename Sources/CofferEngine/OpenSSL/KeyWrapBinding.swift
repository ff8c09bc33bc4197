package import CofferBase
import COpenSSL

/// AES Key Wrap (RFC 3394) and Key Wrap with Padding (RFC 5649), both specified in NIST SP 800-38F, with
/// OpenSSL.
package enum KeyWrapBinding {
    /// The number of bytes that wrapping adds to a key. With padding, they are added to the key's length
    /// rounded up to a multiple of 8.
    package static let overhead = 8

    /// The maximum length of a key to wrap, in bytes.
    package static let maxKeyLength = 4096

    /// Wraps `key`, whose length is a multiple of 8 bytes and at least 16, under a key of 16, 24 or 32 bytes.
    package static func wrap(_ key: Span<UInt8>, under wrappingKey: Span<UInt8>) throws(CofferError)
        -> [UInt8]
    {
        guard key.count >= 16, key.count % 8 == 0, key.count <= maxKeyLength else {
            throw CofferError.wrongKeySize(key.count)
        }
        var wrapped = [UInt8](repeating: 0, count: key.count + overhead)
        var output = wrapped.mutableSpan
        let written = try run(.exact, key, under: wrappingKey, encrypting: true, into: &output)
        guard written == wrapped.count else { throw OpenSSLFailure.unexpected("AES key wrap") }
        return wrapped
    }

    /// Unwraps a key. Throws `notAuthentic` if the key was not wrapped under `wrappingKey`.
    package static func unwrap(
        _ wrapped: Span<UInt8>, under wrappingKey: Span<UInt8>
    ) throws(CofferError) -> GuardedBytes {
        guard wrapped.count >= 24, wrapped.count % 8 == 0, wrapped.count <= maxKeyLength + overhead else {
            throw CofferError.notAuthentic
        }
        return try GuardedBytes.filled(count: wrapped.count - overhead) { (key) throws(CofferError) in
            let written = try run(.exact, wrapped, under: wrappingKey, encrypting: false, into: &key)
            guard written == key.count else { throw refusal }
        }
    }

    /// Wraps `key`, which is 1 to ``maxKeyLength`` bytes long, with padding under a key of 16, 24 or 32
    /// bytes.
    package static func wrapPadded(_ key: Span<UInt8>, under wrappingKey: Span<UInt8>) throws(CofferError)
        -> [UInt8]
    {
        guard key.count >= 1, key.count <= maxKeyLength else { throw CofferError.wrongKeySize(key.count) }
        var wrapped = [UInt8](repeating: 0, count: (key.count + 7) / 8 * 8 + overhead)
        var output = wrapped.mutableSpan
        let written = try run(.padded, key, under: wrappingKey, encrypting: true, into: &output)
        guard written == wrapped.count else { throw OpenSSLFailure.unexpected("AES key wrap with padding") }
        return wrapped
    }

    /// Unwraps a padded key. Throws `notAuthentic` if the key was not wrapped under `wrappingKey`.
    package static func unwrapPadded(
        _ wrapped: Span<UInt8>, under wrappingKey: Span<UInt8>
    ) throws(CofferError) -> GuardedBytes {
        guard wrapped.count >= 16, wrapped.count % 8 == 0, wrapped.count <= maxKeyLength + overhead else {
            throw CofferError.notAuthentic
        }
        var padded = try GuardedBytes.zeroed(count: wrapped.count)
        var span = padded.mutableSpan
        let written = try run(.padded, wrapped, under: wrappingKey, encrypting: false, into: &span)
        guard let written, written >= 1, written <= wrapped.count - overhead else { throw refusal }
        return try GuardedBytes.copying(padded.span.extracting(..<written))
    }

    private enum Form { case exact, padded }

    /// The error to throw for every failed unwrapping. Accessing this property discards OpenSSL's own error.
    private static var refusal: CofferError {
        ERR_clear_error()
        return CofferError.notAuthentic
    }

    private static func cipher(_ form: Form, keySize: Int) -> OpaquePointer? {
        switch (form, keySize) {
        case (.exact, 16): unsafe OpenSSLAlgorithm.aes128Wrap.pointer
        case (.exact, 24): unsafe OpenSSLAlgorithm.aes192Wrap.pointer
        case (.exact, 32): unsafe OpenSSLAlgorithm.aes256Wrap.pointer
        case (.padded, 16): unsafe OpenSSLAlgorithm.aes128WrapPadded.pointer
        case (.padded, 24): unsafe OpenSSLAlgorithm.aes192WrapPadded.pointer
        case (.padded, 32): unsafe OpenSSLAlgorithm.aes256WrapPadded.pointer
        default: nil
        }
    }

    /// Wraps or unwraps `input`. Returns the number of bytes written, or `nil` if OpenSSL fails.
    private static func run(
        _ form: Form, _ input: Span<UInt8>, under key: Span<UInt8>, encrypting: Bool,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) -> Int? {
        guard let cipher = unsafe cipher(form, keySize: key.count) else {
            throw CofferError.wrongKeySize(key.count)
        }
        let context = try CipherContext.make()
        unsafe EVP_CIPHER_CTX_set_flags(context.pointer, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW)
        let started = unsafe key.withUnsafeBufferPointer {
            unsafe EVP_CipherInit_ex(context.pointer, cipher, nil, $0.baseAddress, nil, encrypting ? 1 : 0)
                == 1
        }
        return unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe input.withUnsafeBytes { input in
                unsafe started ? context.update(input: input, output: output.baseAddress) : nil
            }
        }
    }
}
