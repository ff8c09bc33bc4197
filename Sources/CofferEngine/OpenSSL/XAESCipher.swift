package import CofferBase
import COpenSSL

/// XAES-256-GCM (C2SP): AES-256-GCM under a key derived from the first half of a 24-byte nonce.
///
/// The derivation is SP 800-108r1 in counter mode over AES-CMAC: two AES-256 blocks for each nonce prefix.
/// The context of the last prefix is cached, so messages with the same prefix cost no more than plain GCM.
/// Sealing or opening a message allocates no memory.
package struct XAESCipher: ~Copyable, Sendable {
    package static let keySize = 32
    package static let nonceSize = 24
    package static let tagSize = AEADCipher.tagSize
    /// The number of nonce bytes from which the key is derived. The remaining bytes are the GCM nonce.
    package static let prefixSize = 12

    /// The context that encrypts single blocks with AES-256 under the key itself.
    private let block: CipherContext
    /// CMAC's subkey K1, followed by space for a derived key.
    private var area: GuardedBytes
    private var cipher: AEADCipher
    private var prefix: InlineArray<12, UInt8>

    private init(
        block: CipherContext, area: consuming GuardedBytes, cipher: consuming AEADCipher,
        prefix: InlineArray<12, UInt8>
    ) {
        self.block = block
        self.area = area
        self.cipher = cipher
        self.prefix = prefix
    }

    /// Creates a cipher under a key of 32 bytes.
    package static func make(key: Span<UInt8>) throws(CofferError) -> XAESCipher {
        guard key.count == keySize else { throw CofferError.wrongKeySize(key.count) }
        let block = try CipherContext.make()
        let started = unsafe key.withUnsafeBufferPointer { key in
            unsafe EVP_CipherInit_ex(
                block.pointer, OpenSSLAlgorithm.aes256ECB.pointer, nil, key.baseAddress, nil, 1) == 1
                && EVP_CIPHER_CTX_set_padding(block.pointer, 0) == 1
        }
        guard started else { throw OpenSSLFailure.unexpected("EVP_CipherInit_ex") }
        var area = try GuardedBytes.zeroed(count: 16 + keySize)
        try writeSubkey(into: &area, block)
        let prefix = InlineArray<12, UInt8>(repeating: 0)
        try writeKey(for: prefix.span, into: &area, block)
        let cipher = try AEADCipher.make(.aes256GCM, key: area.span.extracting(16...))
        clearKey(in: &area)
        return XAESCipher(block: block, area: area, cipher: cipher, prefix: prefix)
    }

    /// Returns an AES-256-GCM cipher for the messages whose nonces begin with `prefix`, which is 12 bytes
    /// long. The key is derived only once, and each message's GCM nonce is the other 12 bytes of its nonce.
    package mutating func derived(prefix: Span<UInt8>) throws(CofferError) -> AEADCipher {
        guard prefix.count == Self.prefixSize else { throw CofferError.wrongNonceSize(prefix.count) }
        try Self.writeKey(for: prefix, into: &area, block)
        let cipher = try AEADCipher.make(.aes256GCM, key: area.span.extracting(16...))
        Self.clearKey(in: &area)
        return cipher
    }

    /// Writes the ciphertext and the tag to `output`, which must be exactly 16 bytes longer than `plaintext`.
    package mutating func seal(
        _ plaintext: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        try turn(to: nonce)
        try cipher.seal(
            plaintext, nonce: nonce.extracting(Self.prefixSize...), associatedData: associatedData,
            into: &output)
    }

    /// Replaces the plaintext, which is all of `buffer` except its last 16 bytes, with the ciphertext, and
    /// the last 16 bytes with the tag.
    package mutating func sealInPlace(
        _ buffer: inout MutableSpan<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>
    ) throws(CofferError) {
        try turn(to: nonce)
        try cipher.sealInPlace(
            &buffer, nonce: nonce.extracting(Self.prefixSize...), associatedData: associatedData)
    }

    /// Writes the plaintext to `output` if the tag is valid. Otherwise, clears `output` and throws
    /// `notAuthentic`.
    package mutating func open(
        _ sealed: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        try turn(to: nonce)
        try cipher.open(
            sealed, nonce: nonce.extracting(Self.prefixSize...), associatedData: associatedData, into: &output
        )
    }

    /// Replaces the ciphertext and the tag in `buffer` with the plaintext, which is 16 bytes shorter. If the
    /// tag is invalid, clears `buffer` and throws `notAuthentic`.
    package mutating func openInPlace(
        _ buffer: inout MutableSpan<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>
    ) throws(CofferError) {
        try turn(to: nonce)
        try cipher.openInPlace(
            &buffer, nonce: nonce.extracting(Self.prefixSize...), associatedData: associatedData)
    }

    /// Rekeys the cached context for the prefix of `nonce`, unless the context already has that prefix.
    private mutating func turn(to nonce: Span<UInt8>) throws(CofferError) {
        guard nonce.count == Self.nonceSize else { throw CofferError.wrongNonceSize(nonce.count) }
        guard (0..<Self.prefixSize).contains(where: { nonce[$0] != prefix[$0] }) else { return }
        try Self.writeKey(for: nonce.extracting(..<Self.prefixSize), into: &area, block)
        try Self.replaceKey(of: &cipher, by: area)
        for index in 0..<Self.prefixSize { prefix[index] = nonce[index] }
        Self.clearKey(in: &area)
    }

    private static func replaceKey(
        of cipher: inout AEADCipher, by area: borrowing GuardedBytes
    ) throws(CofferError) {
        try cipher.replaceKey(by: area.span.extracting(16...))
    }

    private static func clearKey(in area: inout GuardedBytes) {
        var span = area.mutableSpan
        var key = span._mutatingExtracting(16...)
        key.clear()
    }

    /// Writes CMAC's subkey K1 (SP 800-38B section 6.1), which is the encrypted zero block doubled in
    /// GF(2^128).
    private static func writeSubkey(
        into area: inout GuardedBytes, _ block: CipherContext
    ) throws(CofferError) {
        var span = area.mutableSpan
        try encrypt(&span, from: 0, count: 16, block)
        let carry = span[0] >> 7
        for index in 0..<15 { span[index] = span[index] << 1 | span[index + 1] >> 7 }
        span[15] = span[15] << 1 ^ (carry &* 0x87)
    }

    /// Writes the derived key, which consists of two CMACs. Their input is the counter (16 bits; 1, then 2),
    /// the label "X", a zero byte, and the prefix.
    private static func writeKey(
        for prefix: Span<UInt8>, into area: inout GuardedBytes, _ block: CipherContext
    ) throws(CofferError) {
        var span = area.mutableSpan
        for counter in 1...2 {
            let head: InlineArray<4, UInt8> = [0, UInt8(counter), UInt8(ascii: "X"), 0]
            for index in 0..<16 {
                let byte = index < 4 ? head[index] : prefix[index - 4]
                span[16 * counter + index] = span[index] ^ byte
            }
        }
        try encrypt(&span, from: 16, count: 32, block)
    }

    private static func encrypt(
        _ span: inout MutableSpan<UInt8>, from start: Int, count: Int, _ block: CipherContext
    ) throws(CofferError) {
        let done = unsafe span.withPointer { bytes in
            let target = unsafe bytes + start
            let input = unsafe UnsafeRawBufferPointer(start: target, count: count)
            return unsafe block.update(input: input, output: target) == count
        }
        guard done else { throw OpenSSLFailure.unexpected("AES") }
    }
}
