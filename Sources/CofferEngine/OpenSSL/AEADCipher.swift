package import CofferBase
import COpenSSL

/// AES-GCM (NIST SP 800-38D) and ChaCha20-Poly1305 (RFC 8439) with OpenSSL and a cached key schedule.
///
/// Nonces must be exactly 12 bytes long, and tags exactly 16 bytes; OpenSSL itself would accept tags of one
/// byte or more.
package struct AEADCipher: ~Copyable, Sendable {
    package enum Algorithm: Sendable {
        case aes128GCM, aes192GCM, aes256GCM, chaCha20Poly1305

        package var keySize: Int {
            switch self {
            case .aes128GCM: 16
            case .aes192GCM: 24
            case .aes256GCM, .chaCha20Poly1305: 32
            }
        }

        var evp: OpaquePointer? {
            switch self {
            case .aes128GCM: unsafe OpenSSLAlgorithm.aes128GCM.pointer
            case .aes192GCM: unsafe OpenSSLAlgorithm.aes192GCM.pointer
            case .aes256GCM: unsafe OpenSSLAlgorithm.aes256GCM.pointer
            case .chaCha20Poly1305: unsafe OpenSSLAlgorithm.chaCha20Poly1305.pointer
            }
        }
    }

    package static let nonceSize = 12
    package static let tagSize = 16
    package static let defaultPiece = CipherContext.defaultPiece

    let context: CipherContext

    private init(context: CipherContext) { self.context = context }

    /// Creates a cipher for many messages under `key`, which is expanded only once. Tests pass a small
    /// `largestPiece`.
    package static func make(
        _ algorithm: Algorithm, key: Span<UInt8>, largestPiece: Int = defaultPiece
    ) throws(CofferError) -> AEADCipher {
        guard key.count == algorithm.keySize else { throw CofferError.wrongKeySize(key.count) }
        let context = try CipherContext.make(largestPiece: largestPiece)
        let status = unsafe key.withUnsafeBufferPointer { key in
            unsafe EVP_CipherInit_ex(context.pointer, algorithm.evp, nil, key.baseAddress, nil, 1)
        }
        guard status == 1 else { throw OpenSSLFailure.unexpected("EVP_CipherInit_ex") }
        return AEADCipher(context: context)
    }

    /// Writes the ciphertext and the tag to `output`, which must be exactly 16 bytes longer than `plaintext`.
    package mutating func seal(
        _ plaintext: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard output.count == plaintext.count + Self.tagSize else { throw CofferError.wrongOutputSize }
        try start(nonce: nonce, associatedData: associatedData)
        let context = context.handle
        let done = unsafe output.withPointer { output in
            unsafe plaintext.withUnsafeBytes {
                unsafe Self.finishSealing($0, into: output, tag: output + $0.count, context)
            }
        }
        guard done else { throw OpenSSLFailure.unexpected("AEAD encryption") }
    }

    /// Replaces the plaintext, which is all of `buffer` except its last 16 bytes, with the ciphertext, and
    /// the last 16 bytes with the tag.
    package mutating func sealInPlace(
        _ buffer: inout MutableSpan<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>
    ) throws(CofferError) {
        let count = buffer.count - Self.tagSize
        guard count >= 0 else { throw CofferError.wrongOutputSize }
        try start(nonce: nonce, associatedData: associatedData)
        let context = context.handle
        let done = unsafe buffer.withPointer { start in
            unsafe Self.finishSealing(
                UnsafeRawBufferPointer(start: start, count: count), into: start, tag: start + count, context)
        }
        guard done else { throw OpenSSLFailure.unexpected("AEAD encryption") }
    }

    /// Writes the plaintext to `output` if the tag is valid. Otherwise, clears `output` and throws
    /// `notAuthentic`.
    package mutating func open(
        _ sealed: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard sealed.count >= Self.tagSize else {
            output.clear()
            throw CofferError.notAuthentic
        }
        let count = sealed.count - Self.tagSize
        guard output.count == count else { throw CofferError.wrongOutputSize }
        let tag = sealed.extracting(count...)
        try start(nonce: nonce, associatedData: associatedData, opening: tag)
        let context = context.handle
        let done = unsafe output.withPointer { output in
            unsafe sealed.withUnsafeBytes { sealed in
                let body = unsafe UnsafeRawBufferPointer(rebasing: sealed[..<count])
                return unsafe Self.finishOpening(body, into: output, context)
            }
        }
        guard done else { throw Self.refusal(clearing: &output) }
    }

    /// Replaces the ciphertext and the tag in `buffer` with the plaintext, which is 16 bytes shorter. If the
    /// tag is invalid, clears `buffer` and throws `notAuthentic`.
    package mutating func openInPlace(
        _ buffer: inout MutableSpan<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>
    ) throws(CofferError) {
        let count = buffer.count - Self.tagSize
        guard count >= 0 else { throw CofferError.notAuthentic }
        try start(nonce: nonce, associatedData: associatedData, opening: buffer.span.extracting(count...))
        let context = context.handle
        let done = unsafe buffer.withPointer { start in
            unsafe Self.finishOpening(
                UnsafeRawBufferPointer(start: start, count: count), into: start, context)
        }
        guard done else { throw Self.refusal(clearing: &buffer) }
    }

    @inline(__always)
    static func finishSealing(
        _ plaintext: UnsafeRawBufferPointer, into output: UnsafeMutablePointer<UInt8>,
        tag: UnsafeMutablePointer<UInt8>, _ context: CipherContext.Handle
    ) -> Bool {
        guard unsafe context.update(input: plaintext, output: output) == plaintext.count else { return false }
        var extra: Int32 = 0
        guard unsafe EVP_CipherFinal_ex(context.pointer, tag, &extra) == 1 else { return false }
        // EVP_CIPHER_CTX_ctrl makes the same call, but takes longer.
        return unsafe OSSLParameters.withTag(tag, count: tagSize) {
            unsafe EVP_CIPHER_CTX_get_params(context.pointer, $0) == 1
        }
    }

    @inline(__always)
    static func finishOpening(
        _ body: UnsafeRawBufferPointer, into output: UnsafeMutablePointer<UInt8>,
        _ context: CipherContext.Handle
    ) -> Bool {
        guard unsafe context.update(input: body, output: output) == body.count else { return false }
        var extra: Int32 = 0
        var none: UInt8 = 0
        return unsafe EVP_CipherFinal_ex(context.pointer, &none, &extra) == 1
    }

    private static func refusal(clearing output: inout MutableSpan<UInt8>) -> CofferError {
        ERR_clear_error()
        output.clear()
        return CofferError.notAuthentic
    }

    /// Starts to seal a message.
    private func start(nonce: Span<UInt8>, associatedData: Span<UInt8>) throws(CofferError) {
        guard nonce.count == Self.nonceSize else { throw CofferError.wrongNonceSize(nonce.count) }
        guard Self.startSealing(context.handle, nonce: nonce, associatedData: associatedData) else {
            throw OpenSSLFailure.unexpected("AEAD start")
        }
    }

    /// Starts to open a message.
    private func start(
        nonce: Span<UInt8>, associatedData: Span<UInt8>, opening tag: Span<UInt8>
    ) throws(CofferError) {
        guard nonce.count == Self.nonceSize else { throw CofferError.wrongNonceSize(nonce.count) }
        guard Self.startOpening(context.handle, tag: tag, nonce: nonce, associatedData: associatedData) else {
            throw OpenSSLFailure.unexpected("AEAD start")
        }
    }

    /// Starts to seal a message. The nonce must have its size.
    @inline(__always)
    static func startSealing(
        _ context: CipherContext.Handle, nonce: Span<UInt8>, associatedData: Span<UInt8>
    ) -> Bool {
        precondition(nonce.count == nonceSize)
        return unsafe nonce.withUnsafeBufferPointer { nonce in
            unsafe EVP_CipherInit_ex(context.pointer, nil, nil, nil, nonce.baseAddress, 1) == 1
        } && authenticate(associatedData, context)
    }

    /// Starts to open a message. The nonce and the tag must have their sizes. OpenSSL takes the tag together
    /// with the nonce, which is faster than taking the tag before the end.
    @inline(__always)
    static func startOpening(
        _ context: CipherContext.Handle, tag: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>
    ) -> Bool {
        precondition(nonce.count == nonceSize && tag.count == tagSize)
        let started = unsafe nonce.withUnsafeBufferPointer { nonce in
            unsafe tag.withPointer { tag in
                unsafe OSSLParameters.withTag(tag, count: tagSize) { parameters in
                    unsafe EVP_CipherInit_ex2(context.pointer, nil, nil, nonce.baseAddress, 0, parameters)
                        == 1
                }
            }
        }
        return started && authenticate(associatedData, context)
    }

    @inline(__always)
    private static func authenticate(_ data: Span<UInt8>, _ context: CipherContext.Handle) -> Bool {
        guard !data.isEmpty else { return true }
        return unsafe data.withUnsafeBytes { unsafe context.update(input: $0, output: nil) != nil }
    }
}

/// Operations for formats that store the tag separately from the ciphertext, and for keys that change from
/// message to message.
extension AEADCipher {
    /// Writes the ciphertext, which is as long as the plaintext, to `output` and the 16-byte tag to `tag`.
    package mutating func seal(
        _ plaintext: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>,
        into output: inout MutableSpan<UInt8>, tag: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard output.count == plaintext.count, tag.count == Self.tagSize else {
            throw CofferError.wrongOutputSize
        }
        try start(nonce: nonce, associatedData: associatedData)
        let context = context.handle
        let done = unsafe tag.withPointer { tag in
            unsafe output.withPointer { output in
                unsafe plaintext.withUnsafeBytes {
                    unsafe Self.finishSealing($0, into: output, tag: tag, context)
                }
            }
        }
        guard done else { throw OpenSSLFailure.unexpected("AEAD encryption") }
    }

    /// Replaces the plaintext, which is all of `buffer`, with its ciphertext and writes the 16-byte tag to
    /// `tag`.
    package mutating func sealInPlace(
        _ buffer: inout MutableSpan<UInt8>, tag: inout MutableSpan<UInt8>, nonce: Span<UInt8>,
        associatedData: Span<UInt8>
    ) throws(CofferError) {
        guard tag.count == Self.tagSize else { throw CofferError.wrongOutputSize }
        let count = buffer.count
        try start(nonce: nonce, associatedData: associatedData)
        let context = context.handle
        let done = unsafe tag.withPointer { tag in
            unsafe buffer.withPointer { start in
                unsafe Self.finishSealing(
                    UnsafeRawBufferPointer(start: start, count: count), into: start, tag: tag, context)
            }
        }
        guard done else { throw OpenSSLFailure.unexpected("AEAD encryption") }
    }

    /// Writes the plaintext, which is as long as the ciphertext, to `output` if the tag is valid. Otherwise,
    /// clears `output` and throws `notAuthentic`.
    package mutating func open(
        _ ciphertext: Span<UInt8>, tag: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard output.count == ciphertext.count else { throw CofferError.wrongOutputSize }
        guard tag.count == Self.tagSize else { throw Self.refusal(clearing: &output) }
        try start(nonce: nonce, associatedData: associatedData, opening: tag)
        let context = context.handle
        let done = unsafe output.withPointer { output in
            unsafe ciphertext.withUnsafeBytes { unsafe Self.finishOpening($0, into: output, context) }
        }
        guard done else { throw Self.refusal(clearing: &output) }
    }

    /// Replaces the ciphertext, which is all of `buffer`, with the plaintext. If the tag is invalid, clears
    /// `buffer` and throws `notAuthentic`.
    package mutating func openInPlace(
        _ buffer: inout MutableSpan<UInt8>, tag: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>
    ) throws(CofferError) {
        guard tag.count == Self.tagSize else { throw Self.refusal(clearing: &buffer) }
        let count = buffer.count
        try start(nonce: nonce, associatedData: associatedData, opening: tag)
        let context = context.handle
        let done = unsafe buffer.withPointer { start in
            unsafe Self.finishOpening(
                UnsafeRawBufferPointer(start: start, count: count), into: start, context)
        }
        guard done else { throw Self.refusal(clearing: &buffer) }
    }

    /// Replaces the current key with another key for the same algorithm.
    mutating func replaceKey(by key: Span<UInt8>) throws(CofferError) {
        let context = context.handle
        let status = unsafe key.withUnsafeBufferPointer { key in
            unsafe EVP_CipherInit_ex(context.pointer, nil, nil, key.baseAddress, nil, 1)
        }
        guard status == 1 else { throw OpenSSLFailure.unexpected("EVP_CipherInit_ex") }
    }
}
