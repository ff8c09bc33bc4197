package import CofferBase
import COpenSSL

/// AES-SIV (RFC 5297), implemented with OpenSSL's CMAC and counter mode.
///
/// OpenSSL itself implements this mode, but versions before 3.0.10 ignore empty associated data
/// (CVE-2023-2975), and OpenSSL rejects an empty plaintext. This implementation follows the standard in both
/// cases.
package struct SIVCipher: ~Copyable, Sendable {
    package static let tagSize = CMACContext.tagSize
    /// The standard's limit: 126 strings of associated data in addition to the plaintext.
    package static let maxStringCount = 126

    private var mac: CMACContext
    private let counter: CipherContext
    /// The intermediate value of S2V, followed by space for one CMAC.
    private var area: GuardedBytes

    private init(mac: consuming CMACContext, counter: CipherContext, area: consuming GuardedBytes) {
        self.mac = mac
        self.counter = counter
        self.area = area
    }

    /// Creates a cipher under a key of 32, 48 or 64 bytes. The first half of the key authenticates, and the
    /// second half encrypts.
    package static func make(key: Span<UInt8>) throws(CofferError) -> SIVCipher {
        let half = key.count / 2
        let cipher: OpaquePointer? =
            switch key.count {
            case 32: unsafe OpenSSLAlgorithm.aes128CTR.pointer
            case 48: unsafe OpenSSLAlgorithm.aes192CTR.pointer
            case 64: unsafe OpenSSLAlgorithm.aes256CTR.pointer
            default: nil
            }
        guard let cipher = unsafe cipher else { throw CofferError.wrongKeySize(key.count) }
        let mac = try CMACContext.make(key: key.extracting(..<half))
        let counter = try CipherContext.make()
        let started = unsafe key.extracting(half...).withUnsafeBufferPointer { key in
            unsafe EVP_CipherInit_ex(counter.pointer, cipher, nil, key.baseAddress, nil, 1) == 1
        }
        guard started else { throw OpenSSLFailure.unexpected("EVP_CipherInit_ex") }
        return SIVCipher(mac: mac, counter: counter, area: try GuardedBytes.zeroed(count: 2 * tagSize))
    }

    /// Begins S2V. Afterwards, call ``add(_:)`` for each string of associated data.
    package mutating func start() throws(CofferError) {
        let zeros = InlineArray<16, UInt8>(repeating: 0)
        try mac.restart()
        try mac.update(zeros.span)
        try Self.finish(&mac, into: &area, at: 0)
    }

    /// Adds one string of associated data, which may be empty.
    package mutating func add(_ string: Span<UInt8>) throws(CofferError) {
        try mac.restart()
        try mac.update(string)
        try Self.finish(&mac, into: &area, at: Self.tagSize)
        var span = area.mutableSpan
        Self.double(&span)
        for index in 0..<Self.tagSize { span[index] ^= span[Self.tagSize + index] }
    }

    /// Writes the synthetic IV, followed by the ciphertext, to `output`, which must be exactly 16 bytes
    /// longer than `plaintext`.
    package mutating func seal(
        _ plaintext: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard output.count == plaintext.count + Self.tagSize else { throw CofferError.wrongOutputSize }
        var tag = output._mutatingExtracting(..<Self.tagSize)
        try Self.authenticate(plaintext, &mac, &area, into: &tag)
        var iv = InlineArray<16, UInt8>(repeating: 0)
        for index in iv.indices { iv[index] = tag[index] }
        var body = output._mutatingExtracting(Self.tagSize...)
        try run(plaintext, iv: iv, into: &body)
    }

    /// Writes the plaintext to `output` if its synthetic IV is valid. Otherwise, clears `output` and throws
    /// `notAuthentic`.
    package mutating func open(
        _ sealed: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard sealed.count >= Self.tagSize else {
            output.clear()
            throw CofferError.notAuthentic
        }
        guard output.count == sealed.count - Self.tagSize else { throw CofferError.wrongOutputSize }
        var iv = InlineArray<16, UInt8>(repeating: 0)
        for index in iv.indices { iv[index] = sealed[index] }
        try run(sealed.extracting(Self.tagSize...), iv: iv, into: &output)
        var expected = InlineArray<16, UInt8>(repeating: 0)
        var tag = expected.mutableSpan
        try Self.authenticate(output.span, &mac, &area, into: &tag)
        guard ConstantTime.equal(expected.span, iv.span) else {
            output.clear()
            throw CofferError.notAuthentic
        }
    }

    /// Finishes S2V with the plaintext and writes the synthetic IV to `tag`.
    private static func authenticate(
        _ plaintext: Span<UInt8>, _ mac: inout CMACContext, _ area: inout GuardedBytes,
        into tag: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        var span = area.mutableSpan
        let body = max(0, plaintext.count - tagSize)
        let end = plaintext.extracting(body...)
        if end.count < tagSize {
            double(&span)
            span[end.count] ^= 0x80
        }
        for index in end.indices { span[index] ^= end[index] }
        try mac.restart()
        try mac.update(plaintext.extracting(..<body))
        try mac.update(area.span.extracting(..<tagSize))
        try mac.finish(into: &tag)
    }

    /// Writes a CMAC to the area. This function is static because the compiler can prove that two values do
    /// not overlap only if they are parameters.
    private static func finish(
        _ mac: inout CMACContext, into area: inout GuardedBytes, at offset: Int
    ) throws(CofferError) {
        var span = area.mutableSpan
        var part = span._mutatingExtracting(offset..<offset + tagSize)
        try mac.finish(into: &part)
    }

    /// Multiplies the intermediate value by x in the field of SP 800-38B, without branching on its bits.
    private static func double(_ span: inout MutableSpan<UInt8>) {
        let mask = 0 &- (span[0] >> 7)
        for index in 0..<tagSize - 1 { span[index] = span[index] << 1 | span[index + 1] >> 7 }
        span[tagSize - 1] = span[tagSize - 1] << 1 ^ (0x87 & mask)
    }

    /// Encrypts or decrypts `input` in counter mode, which starts from the synthetic IV with bits 31 and 63
    /// cleared.
    private func run(
        _ input: Span<UInt8>, iv: InlineArray<16, UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        var start = iv
        start[8] &= 0x7f
        start[12] &= 0x7f
        let counter = counter
        let begun = unsafe start.span.withUnsafeBufferPointer { start in
            unsafe EVP_CipherInit_ex(counter.pointer, nil, nil, nil, start.baseAddress, 1) == 1
        }
        guard begun else { throw OpenSSLFailure.unexpected("EVP_CipherInit_ex") }
        guard input.count > 0 else { return }
        let done = unsafe output.withPointer { output in
            unsafe input.withUnsafeBytes { unsafe counter.update(input: $0, output: output) == $0.count }
        }
        guard done else { throw OpenSSLFailure.unexpected("counter mode") }
    }
}
