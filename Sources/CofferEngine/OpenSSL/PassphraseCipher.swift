package import CofferBase
import COpenSSL

/// The ciphers of key files that a passphrase protects (RFC 8018, RFC 7292), all in CBC mode with padding.
///
/// Only AES is used for new files. The others are for files that exist already.
package enum PassphraseCipher: Sendable, CaseIterable {
    case aes128, aes192, aes256
    case tripleDES, twoKeyTripleDES
    case rc2With40Bits, rc2With128Bits

    /// The size of the key in bytes.
    package var keySize: Int {
        switch self {
        case .aes128, .twoKeyTripleDES, .rc2With128Bits: 16
        case .aes192, .tripleDES: 24
        case .aes256: 32
        case .rc2With40Bits: 5
        }
    }

    /// The size of a block and of the initialization vector in bytes.
    package var blockSize: Int {
        switch self {
        case .aes128, .aes192, .aes256: 16
        case .tripleDES, .twoKeyTripleDES, .rc2With40Bits, .rc2With128Bits: 8
        }
    }

    /// Whether only OpenSSL's legacy provider has the cipher.
    package var isLegacy: Bool { self == .rc2With40Bits || self == .rc2With128Bits }

    private var name: String {
        switch self {
        case .aes128: "AES-128-CBC"
        case .aes192: "AES-192-CBC"
        case .aes256: "AES-256-CBC"
        case .tripleDES: "DES-EDE3-CBC"
        case .twoKeyTripleDES: "DES-EDE-CBC"
        case .rc2With40Bits: "RC2-40-CBC"
        case .rc2With128Bits: "RC2-CBC"
        }
    }

    /// Returns the plaintext without its padding, in guarded memory.
    ///
    /// - Throws: `notAuthentic` for a size that is not one of whole blocks, or for a wrong padding, which is
    ///   the only sign of a wrong key; `unsupported` if this machine's OpenSSL does not have the cipher.
    package func decrypt(
        _ ciphertext: Span<UInt8>, key: Span<UInt8>, iv: Span<UInt8>
    ) throws(CofferError) -> GuardedBytes {
        guard key.count == keySize else { throw CofferError.wrongKeySize(key.count) }
        guard iv.count == blockSize else { throw CofferError.wrongNonceSize(iv.count) }
        guard ciphertext.count > 0, ciphertext.count % blockSize == 0 else { throw CofferError.notAuthentic }
        let provider = isLegacy ? LegacyProvider.load() : nil
        defer { withExtendedLifetime(provider) {} }
        OpenSSLAlgorithm.keepEverythingAtExit()
        let fetched =
            isLegacy ? unsafe provider?.cipher(name) : unsafe EVP_CIPHER_fetch(nil, name, nil)
        guard let cipher = unsafe fetched else {
            ERR_clear_error()
            throw unavailable
        }
        defer { unsafe EVP_CIPHER_free(cipher) }
        return unsafe try Self.run(cipher, ciphertext, key, iv)
    }

    private static func run(
        _ cipher: OpaquePointer, _ ciphertext: Span<UInt8>, _ key: Span<UInt8>, _ iv: Span<UInt8>
    ) throws(CofferError) -> GuardedBytes {
        let context = try CipherContext.make()
        defer { ERR_clear_error() }
        let isReady = unsafe key.withPointer { key in
            unsafe iv.withPointer { iv in
                unsafe EVP_CipherInit_ex(context.pointer, cipher, nil, key, iv, 0) == 1
            }
        }
        guard isReady else { throw OpenSSLFailure.unexpected("EVP_CipherInit_ex") }
        // OpenSSL may write a block beyond the end before it finds the padding.
        var plaintext = try GuardedBytes.zeroed(count: ciphertext.count + 16)
        var span = plaintext.mutableSpan
        let count = unsafe span.withPointer { output in
            unsafe ciphertext.withUnsafeBytes { input -> Int? in
                guard let body = unsafe context.update(input: input, output: output) else { return nil }
                var tail: Int32 = 0
                guard unsafe EVP_CipherFinal_ex(context.pointer, output + body, &tail) == 1 else {
                    return nil
                }
                return body + Int(tail)
            }
        }
        guard let count else { throw CofferError.notAuthentic }
        plaintext.shrink(to: count)
        return plaintext
    }

    private var unavailable: CofferError {
        CofferError(
            .unsupported,
            isLegacy
                ? "The file is encrypted with RC2, an outdated cipher, which OpenSSL on this machine does "
                    + "not have, because its legacy provider is missing. In the program that wrote the file, "
                    + "export the key again with AES."
                : "OpenSSL on this machine does not have the cipher with which the file is encrypted. In the "
                    + "program that wrote the file, export the key again with AES.")
    }
}
