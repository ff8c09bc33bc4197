import CofferBase
import CofferCrypto
import Testing
import TestSupport

@Suite("AEAD")
struct AEADTests {
    private let plaintext = [UInt8].counting(20, from: 0x60)
    private let data = [UInt8].counting(5)

    private func make(_ algorithm: AEAD.Algorithm, keySize: Int? = nil, from: UInt8 = 0) throws -> AEAD {
        try AEAD.prepare(algorithm, key: try key(.counting(keySize ?? algorithm.keySize, from: from)))
    }

    private func open(_ sealed: [UInt8], _ aead: inout AEAD, data: [UInt8]) throws -> [UInt8] {
        let opened = try aead.open(sealed.span, associatedData: data.span)
        return bytes(opened)
    }

    @Test(
        "The cipher opens what it sealed, with and without associated data",
        arguments: AEAD.Algorithm.allCases, [0, 1, 16, 100])
    func opensWhatItSealed(algorithm: AEAD.Algorithm, count: Int) throws {
        var aead = try make(algorithm)
        for data in [[], data] {
            let sealed = try aead.seal([UInt8].counting(count).span, associatedData: data.span)
            #expect(sealed.count == count + algorithm.nonceSize + AEAD.tagSize)
            #expect(try open(sealed, &aead, data: data) == .counting(count))
        }
    }

    @Test(
        "The cipher refuses a key of another algorithm's size",
        arguments: AEAD.Algorithm.allCases, oddKeySizes + [16, 24, 32])
    func refusesKeysOfAnotherSize(algorithm: AEAD.Algorithm, size: Int) {
        let code = failure { _ = try make(algorithm, keySize: size) }
        #expect(code == (size == algorithm.keySize ? nil : .invalidInput))
    }

    @Test(
        "The cipher refuses a nonce of another algorithm's size",
        arguments: AEAD.Algorithm.allCases, oddNonceSizes + [12, 23, 24, 25])
    func refusesNoncesOfAnotherSize(algorithm: AEAD.Algorithm, size: Int) throws {
        var aead = try UnsafeNonceAEAD.prepare(
            algorithm, key: try key(.counting(algorithm.keySize)))
        var sealed = [UInt8](repeating: 0, count: plaintext.count + 16)
        var opened = [UInt8](repeating: 0, count: plaintext.count)
        let nonce = [UInt8].counting(size)
        let sealing = failure {
            var span = sealed.mutableSpan
            try aead.seal(plaintext.span, nonce: nonce.span, associatedData: Span(), into: &span)
        }
        let opening = failure {
            var span = opened.mutableSpan
            try aead.open(sealed.span, nonce: nonce.span, associatedData: Span(), into: &span)
        }
        #expect(sealing == (size == algorithm.nonceSize ? nil : .invalidInput))
        #expect(opening == (size == algorithm.nonceSize ? nil : .invalidInput))
    }

    @Test(
        "A changed, cut or longer message, other data and another key are not authentic",
        arguments: AEAD.Algorithm.allCases)
    func refusesEverythingElse(algorithm: AEAD.Algorithm) throws {
        var aead = try make(algorithm)
        var other = try make(algorithm, from: 1)
        let sealed = try aead.seal(plaintext.span, associatedData: data.span)
        for flipped in sealed.withEachBitFlipped {
            #expect(failure { _ = try open(flipped, &aead, data: data) } == .notAuthentic)
        }
        for count in 0..<sealed.count {
            #expect(failure { _ = try open(Array(sealed.prefix(count)), &aead, data: data) } == .notAuthentic)
        }
        #expect(failure { _ = try open(sealed + [0], &aead, data: data) } == .notAuthentic)
        #expect(failure { _ = try open(sealed, &aead, data: []) } == .notAuthentic)
        #expect(failure { _ = try open(sealed, &other, data: data) } == .notAuthentic)
        #expect(try open(sealed, &aead, data: data) == plaintext)
    }

    @Test("Bytes cannot move between associated data and message", arguments: AEAD.Algorithm.allCases)
    func dataAndMessageAreApart(algorithm: AEAD.Algorithm) throws {
        var aead = try make(algorithm)
        let sealed = try aead.seal(Span(), associatedData: [1, 2, 3].span)
        #expect(failure { _ = try open(sealed, &aead, data: [1, 2]) } == .notAuthentic)
        #expect(failure { _ = try open(sealed, &aead, data: [1, 2, 3, 0]) } == .notAuthentic)
    }

    @Test("100 000 random nonces all differ")
    func randomNoncesDoNotRepeat() throws {
        var aead = try make(.aes256GCM)
        var nonces: Set<[UInt8]> = []
        for _ in 0..<100_000 { nonces.insert(Array(try aead.seal(Span()).prefix(12))) }
        #expect(nonces.count == 100_000)
    }

    @Test("XChaCha20-Poly1305 opens what it sealed, and refuses changes and other keys")
    func onceByXChaCha() throws {
        let right = try key(.counting(32))
        let wrong = try key(.counting(32, from: 1))
        let sealed = try XChaCha20Poly1305.seal(plaintext.span, key: right, associatedData: data.span)
        let array = try XChaCha20Poly1305.openToArray(sealed.span, key: right, associatedData: data.span)
        #expect(array == plaintext)
        for flipped in sealed.withEachBitFlipped {
            let opening = failure {
                _ = try XChaCha20Poly1305.open(flipped.span, key: right, associatedData: data.span)
            }
            let reading = failure {
                _ = try XChaCha20Poly1305.openToArray(flipped.span, key: right, associatedData: data.span)
            }
            #expect(opening == .notAuthentic)
            #expect(reading == .notAuthentic)
        }
        let other = failure {
            _ = try XChaCha20Poly1305.open(sealed.span, key: wrong, associatedData: data.span)
        }
        #expect(other == .notAuthentic)
        for size in oddKeySizes {
            let odd = try key(.counting(size))
            #expect(failure { _ = try XChaCha20Poly1305.seal(plaintext.span, key: odd) } == .invalidInput)
        }
    }
}
