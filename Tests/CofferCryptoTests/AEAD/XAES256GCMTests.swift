import CofferBase
import CofferCrypto
import Testing
import TestSupport

@Suite("XAES-256-GCM")
struct XAES256GCMTests {
    private let nonce = Array("ABCDEFGHIJKLMNOPQRSTUVWX".utf8)
    private let plaintext = Array("XAES-256-GCM".utf8)

    private func derived(_ key: [UInt8], _ prefix: [UInt8]) throws -> XAES256GCM.Derived {
        var xaes = try XAES256GCM.prepare(key: try CofferCryptoTests.key(key))
        return try xaes.derived(noncePrefix: prefix.span)
    }

    private func seal(
        _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], data: [UInt8] = []
    ) throws -> [UInt8] {
        var aead = try UnsafeNonceAEAD.prepare(.xaes256GCM, key: try CofferCryptoTests.key(key))
        var sealed = [UInt8](repeating: 0, count: plaintext.count + 16)
        var span = sealed.mutableSpan
        try aead.seal(plaintext.span, nonce: nonce.span, associatedData: data.span, into: &span)
        return sealed
    }

    @Test("The cipher reproduces the specification's two vectors, by whole and by halved nonce")
    func published() throws {
        let cases: [(UInt8, String, String)] = [
            (1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
            (3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
        ]
        for (byte, text, expected) in cases {
            let (key, data) = ([UInt8](repeating: byte, count: 32), Array(text.utf8))
            #expect(try seal(plaintext, key: key, nonce: nonce, data: data).hex == expected)
            var cipher = try derived(key, Array(nonce.prefix(12)))
            let suffix = Array(nonce.suffix(12))
            var buffer = plaintext + [UInt8](repeating: 0, count: 16)
            var sealing = buffer.mutableSpan
            try cipher.sealInPlace(&sealing, choosingNonceSuffix: suffix.span, associatedData: data.span)
            #expect(buffer.hex == expected)
            var opening = buffer.mutableSpan
            try cipher.openInPlace(&opening, nonceSuffix: suffix.span, associatedData: data.span)
            #expect(Array(buffer.prefix(12)) == plaintext)
        }
    }

    /// Keys, nonces, messages and associated data come from one SHAKE-128, and the ciphertexts go into
    /// another.
    @Test(
        "The cipher passes the specification's accumulated test over 10 000 messages",
        .timeLimit(.minutes(10)))
    func accumulated() throws {
        var (source, digest) = (Shake128(), Shake128())
        for _ in 0..<10_000 {
            let (key, nonce) = (source.squeeze(32), source.squeeze(24))
            let message = source.squeeze(Int(source.squeeze(1)[0]))
            let data = source.squeeze(Int(source.squeeze(1)[0]))
            digest.absorb(try seal(message, key: key, nonce: nonce, data: data))
        }
        let expected = "e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939"
        #expect(digest.squeeze(32).hex == expected)
    }

    @Test("One prepared key serves nonces whose prefixes change and come back")
    func prefixesComeBack() throws {
        let key = [UInt8].counting(32)
        var aead = try UnsafeNonceAEAD.prepare(.xaes256GCM, key: try CofferCryptoTests.key(key))
        for prefix in [1, 1, 2, 1, 0, 2] as [UInt8] {
            let nonce = [UInt8](repeating: prefix, count: 12) + .counting(12, from: prefix)
            var sealed = [UInt8](repeating: 0, count: 28)
            var span = sealed.mutableSpan
            try aead.seal(plaintext.span, nonce: nonce.span, associatedData: Span(), into: &span)
            #expect(try sealed == seal(plaintext, key: key, nonce: nonce))
            sealed[3] ^= 1
            var opened = [UInt8](repeating: 0xaa, count: 12)
            let code = failure {
                var output = opened.mutableSpan
                try aead.open(sealed.span, nonce: nonce.span, associatedData: Span(), into: &output)
            }
            #expect(code == .notAuthentic && opened == [UInt8](repeating: 0, count: 12))
        }
    }

    @Test("A derived key outlives what it was derived from and seals what the whole nonce opens")
    func derivedKeys() throws {
        let key = [UInt8].counting(32)
        var first = try derived(key, .counting(12))
        var second = try derived(key, .counting(12, from: 1))
        var aead = try AEAD.prepare(.xaes256GCM, key: try CofferCryptoTests.key(key))
        for number in 0..<20 as Range<UInt8> {
            let suffix = [UInt8].counting(12, from: number)
            var sealed = [UInt8](repeating: 0, count: 28)
            var target = sealed.mutableSpan
            try first.seal(
                plaintext.span, choosingNonceSuffix: suffix.span, associatedData: Span(), into: &target)
            let whole = [UInt8].counting(12) + suffix + sealed
            let opened = try aead.open(whole.span)
            #expect(bytes(opened) == plaintext)
            var output = [UInt8](repeating: 0xaa, count: 12)
            let code = failure {
                var span = output.mutableSpan
                try second.open(
                    sealed.span, nonceSuffix: suffix.span, associatedData: Span(), into: &span)
            }
            #expect(code == .notAuthentic && output == [UInt8](repeating: 0, count: 12))
        }
    }

    @Test(
        "Keys, prefixes and suffixes of other sizes are refused", arguments: oddKeySizes + [11, 12, 13, 24])
    func sizes(_ size: Int) throws {
        let odd = [UInt8].counting(size)
        #expect(failure { _ = try XAES256GCM.prepare(key: try key(odd)) } == .invalidInput)
        let prefix = failure { _ = try derived(.counting(32), odd) }
        #expect(prefix == (size == 12 ? nil : .invalidInput))
        var cipher = try derived(.counting(32), .counting(12))
        var buffer = [UInt8](repeating: 0, count: 40)
        let sealing = failure {
            var span = buffer.mutableSpan
            try cipher.sealInPlace(&span, choosingNonceSuffix: odd.span, associatedData: Span())
        }
        #expect(sealing == (size == 12 ? nil : .invalidInput))
        let opening = failure {
            var span = buffer.mutableSpan
            try cipher.openInPlace(&span, nonceSuffix: odd.span, associatedData: Span())
        }
        #expect(opening == (size == 12 ? nil : .invalidInput))
    }
}
