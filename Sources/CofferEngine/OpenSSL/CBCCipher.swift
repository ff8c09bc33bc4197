package import CofferBase
import COpenSSL

/// AES in CBC mode with PKCS#5 padding (NIST SP 800-38A, RFC 8018 section 6.1.1), computed by OpenSSL.
///
/// The ciphertext is not authenticated, and OpenSSL's padding check branches on the decrypted bytes. Where an
/// attacker could alter the ciphertext, callers must verify a MAC first.
package struct CBCCipher: ~Copyable, Sendable {
    package static let blockSize = 16
    package static let defaultPiece = CipherContext.defaultPiece

    private let context: CipherContext

    private init(context: CipherContext) { self.context = context }

    /// Creates a cipher under a key of 16, 24 or 32 bytes. Tests pass a small `largestPiece`.
    package static func make(
        key: Span<UInt8>, encrypting: Bool, largestPiece: Int = defaultPiece
    ) throws(CofferError) -> CBCCipher {
        let cipher: OpaquePointer? =
            switch key.count {
            case 16: unsafe OpenSSLAlgorithm.aes128CBC.pointer
            case 24: unsafe OpenSSLAlgorithm.aes192CBC.pointer
            case 32: unsafe OpenSSLAlgorithm.aes256CBC.pointer
            default: nil
            }
        guard let cipher = unsafe cipher else { throw CofferError.wrongKeySize(key.count) }
        let context = try CipherContext.make(largestPiece: largestPiece)
        let status = unsafe key.withUnsafeBufferPointer { key in
            unsafe EVP_CipherInit_ex(context.pointer, cipher, nil, key.baseAddress, nil, encrypting ? 1 : 0)
        }
        guard status == 1 else { throw OpenSSLFailure.unexpected("EVP_CipherInit_ex") }
        return CBCCipher(context: context)
    }

    /// Returns the size of the ciphertext for `count` bytes of plaintext. The padding adds 1 to 16 bytes.
    package static func ciphertextSize(_ count: Int) -> Int { (count / blockSize + 1) * blockSize }

    /// Runs all of `input` through the cipher and returns the number of bytes written to `output`.
    ///
    /// For encryption, `output` needs ``ciphertextSize(_:)`` bytes; for decryption, it needs as many bytes as
    /// `input`. If decryption finds an invalid length or invalid padding, it clears `output` and throws
    /// `notAuthentic`.
    package mutating func transform(
        _ input: Span<UInt8>, iv: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) -> Int {
        guard iv.count == Self.blockSize else { throw CofferError.wrongNonceSize(iv.count) }
        let context = context
        let encrypting = unsafe EVP_CIPHER_CTX_is_encrypting(context.pointer) == 1
        guard encrypting || (input.count > 0 && input.count % Self.blockSize == 0) else {
            output.clear()
            throw CofferError.notAuthentic
        }
        let needed = encrypting ? Self.ciphertextSize(input.count) : input.count
        guard output.count >= needed else { throw CofferError.wrongOutputSize }
        let started = unsafe iv.withUnsafeBufferPointer { iv in
            unsafe EVP_CipherInit_ex(context.pointer, nil, nil, nil, iv.baseAddress, -1) == 1
        }
        let written: Int? = unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe input.withUnsafeBytes { input in
                guard started, let start = output.baseAddress,
                    let body = unsafe context.update(input: input, output: start)
                else { return nil }
                var tail: Int32 = 0
                guard unsafe EVP_CipherFinal_ex(context.pointer, start + body, &tail) == 1 else { return nil }
                return body + Int(tail)
            }
        }
        guard let written else {
            ERR_clear_error()
            output.clear()
            throw CofferError.notAuthentic
        }
        return written
    }

    /// Encrypts like ``transform(_:iv:into:)`` and adds the ciphertext to `mac` in one pass: each piece is
    /// authenticated while it is still in the processor's cache. `output` must be exactly
    /// ``ciphertextSize(_:)`` bytes long.
    package mutating func encrypt(
        _ plaintext: Span<UInt8>, iv: Span<UInt8>, into output: inout MutableSpan<UInt8>,
        authenticatingWith mac: inout HMACContext
    ) throws(CofferError) {
        guard iv.count == Self.blockSize else { throw CofferError.wrongNonceSize(iv.count) }
        guard output.count == Self.ciphertextSize(plaintext.count) else { throw CofferError.wrongOutputSize }
        let context = context
        let started = unsafe iv.withUnsafeBufferPointer { iv in
            unsafe EVP_CipherInit_ex(context.pointer, nil, nil, nil, iv.baseAddress, 1) == 1
        }
        let handle = mac.handle
        let done = unsafe output.withPointer { target in
            unsafe plaintext.withUnsafeBytes { plaintext in
                unsafe started && Self.encryptPieces(plaintext, into: target, context, handle)
            }
        }
        guard done else { throw OpenSSLFailure.unexpected("CBC encryption") }
    }

    /// The piece size in bytes. A piece of plaintext and its ciphertext fit into half of the smallest
    /// first-level cache.
    private static let pieceSize = 8192

    private static func encryptPieces(
        _ plaintext: UnsafeRawBufferPointer, into target: UnsafeMutablePointer<UInt8>,
        _ context: CipherContext, _ mac: HMACContext.Handle
    ) -> Bool {
        var done = 0
        while plaintext.count - done > pieceSize {
            let piece = unsafe UnsafeRawBufferPointer(rebasing: plaintext[done..<done + pieceSize])
            guard unsafe context.update(input: piece, output: target + done) == pieceSize,
                unsafe mac.update(target + done, pieceSize)
            else { return false }
            done += pieceSize
        }
        let remaining = unsafe UnsafeRawBufferPointer(rebasing: plaintext[done...])
        var tail: Int32 = 0
        guard let body = unsafe context.update(input: remaining, output: target + done),
            unsafe EVP_CipherFinal_ex(context.pointer, target + done + body, &tail) == 1
        else { return false }
        return unsafe mac.update(target + done, body + Int(tail))
    }
}
