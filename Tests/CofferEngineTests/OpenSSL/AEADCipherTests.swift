import CofferBase
import CofferEngine
import Testing
import TestSupport

private let algorithms: [AEADCipher.Algorithm] = [.aes128GCM, .aes192GCM, .aes256GCM, .chaCha20Poly1305]

@Suite("OpenSSL: AES-GCM and ChaCha20-Poly1305")
struct AEADCipherTests {
    private let nonce = [UInt8].counting(12, from: 0x40)
    private let data = [UInt8].counting(5, from: 0x50)
    private let plaintext = [UInt8].counting(20, from: 0x60)

    private func seal(
        _ plaintext: [UInt8], _ algorithm: AEADCipher.Algorithm, key: [UInt8]? = nil, nonce: [UInt8]? = nil,
        data: [UInt8]? = nil, largestPiece: Int = AEADCipher.defaultPiece
    ) throws -> [UInt8] {
        let key = key ?? .counting(algorithm.keySize)
        let (nonce, data) = (nonce ?? self.nonce, data ?? self.data)
        var cipher = try AEADCipher.make(algorithm, key: key.span, largestPiece: largestPiece)
        var sealed = [UInt8](repeating: 0, count: plaintext.count + 16)
        var span = sealed.mutableSpan
        try cipher.seal(
            plaintext.span, nonce: nonce.span, associatedData: data.span,
            into: &span)
        return sealed
    }

    /// The error of an opening, and the content of an output that was not empty before.
    private func open(
        _ sealed: [UInt8], _ algorithm: AEADCipher.Algorithm, key: [UInt8]? = nil, nonce: [UInt8]? = nil,
        data: [UInt8]? = nil, largestPiece: Int = AEADCipher.defaultPiece
    ) throws -> (code: CofferError.Code?, output: [UInt8]) {
        let key = key ?? .counting(algorithm.keySize)
        let (nonce, data) = (nonce ?? self.nonce, data ?? self.data)
        var cipher = try AEADCipher.make(algorithm, key: key.span, largestPiece: largestPiece)
        var output = [UInt8](repeating: 0xaa, count: max(sealed.count - 16, 0))
        let code = failure {
            var span = output.mutableSpan
            try cipher.open(
                sealed.span, nonce: nonce.span, associatedData: data.span,
                into: &span)
        }
        return (code, output)
    }

    private func expectRefused(_ result: (code: CofferError.Code?, output: [UInt8]), _ label: String) {
        #expect(result.code == .notAuthentic, "\(label)")
        #expect(result.output.allSatisfy { $0 == 0 }, "\(label) left plaintext behind")
    }

    /// Test cases 2 and 14 of the GCM specification, and the ciphertext's beginning and the tag of RFC 8439,
    /// 2.8.2.
    @Test("Sealing reproduces the published test vectors")
    func knownValues() throws {
        let zeros = [UInt8](repeating: 0, count: 32)
        let two = try seal(
            Array(zeros.prefix(16)), .aes128GCM, key: Array(zeros.prefix(16)), nonce: Array(zeros.prefix(12)),
            data: [])
        #expect(two.hex == "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf")
        let fourteen = try seal(
            Array(zeros.prefix(16)), .aes256GCM, key: zeros, nonce: Array(zeros.prefix(12)), data: [])
        #expect(fourteen.hex == "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919")
        let text =
            "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
            + "sunscreen would be it."
        let chacha = try seal(
            Array(text.utf8), .chaCha20Poly1305, key: .counting(32, from: 0x80),
            nonce: [UInt8](hex: "070000004041424344454647"), data: [UInt8](hex: "50515253c0c1c2c3c4c5c6c7"))
        #expect(Array(chacha.prefix(16)).hex == "d31a8d34648e60db7b86afbc53ef7ec2")
        #expect(Array(chacha.suffix(16)).hex == "1ae10b594f09e26a7e902ecbd0600691")
    }

    @Test(
        "The cipher opens what it sealed, with and without associated data",
        arguments: algorithms, [0, 1, 15, 16, 17, 100])
    func opensWhatItSealed(algorithm: AEADCipher.Algorithm, count: Int) throws {
        let plaintext = [UInt8].counting(count)
        for data in [[], [UInt8].counting(33)] {
            let result = try open(try seal(plaintext, algorithm, data: data), algorithm, data: data)
            #expect(result.code == nil)
            #expect(result.output == plaintext)
        }
    }

    @Test(
        "The cipher refuses a key of another algorithm's size",
        arguments: algorithms, oddKeySizes + [16, 24, 32])
    func refusesKeysOfAnotherSize(algorithm: AEADCipher.Algorithm, size: Int) {
        let code = failure { _ = try seal(plaintext, algorithm, key: .counting(size)) }
        #expect(code == (size == algorithm.keySize ? nil : .invalidInput))
    }

    @Test("The cipher refuses a nonce of any size but 12 bytes", arguments: algorithms, oddNonceSizes)
    func refusesNoncesOfAnotherSize(algorithm: AEADCipher.Algorithm, size: Int) throws {
        #expect(failure { _ = try seal(plaintext, algorithm, nonce: .counting(size)) } == .invalidInput)
        let sealed = try seal(plaintext, algorithm)
        #expect(try open(sealed, algorithm, nonce: .counting(size)).code == .invalidInput)
    }

    /// OpenSSL itself takes tags from one byte up.
    @Test("The cipher refuses a tag of any size but 16 bytes", arguments: algorithms, Array(0...15) + [17])
    func refusesTagsOfAnotherSize(algorithm: AEADCipher.Algorithm, size: Int) throws {
        for plaintext in [[], self.plaintext] {
            var sealed = try seal(plaintext, algorithm)
            sealed = size == 17 ? sealed + [0] : Array(sealed.prefix(plaintext.count + size))
            expectRefused(try open(sealed, algorithm), "a tag of \(size) bytes")
        }
    }

    @Test("A flipped bit in message, nonce, associated data or key is refused", arguments: algorithms)
    func refusesEveryFlippedBit(algorithm: AEADCipher.Algorithm) throws {
        let sealed = try seal(plaintext, algorithm)
        for other in sealed.withEachBitFlipped { expectRefused(try open(other, algorithm), "message") }
        for other in nonce.withEachBitFlipped {
            expectRefused(try open(sealed, algorithm, nonce: other), "nonce")
        }
        for other in data.withEachBitFlipped {
            expectRefused(try open(sealed, algorithm, data: other), "data")
        }
        for other in [UInt8].counting(algorithm.keySize).withEachBitFlipped {
            expectRefused(try open(sealed, algorithm, key: other), "key")
        }
        expectRefused(try open(sealed, algorithm, data: data + [0]), "longer data")
        expectRefused(try open(sealed, algorithm, data: []), "no data")
    }

    @Test("The cipher refuses an output buffer of another size", arguments: algorithms)
    func refusesOutputOfAnotherSize(algorithm: AEADCipher.Algorithm) throws {
        var cipher = try AEADCipher.make(algorithm, key: [UInt8].counting(algorithm.keySize).span)
        let sealed = try seal(plaintext, algorithm)
        for size in [0, 19, 21, 37] {
            var output = [UInt8](repeating: 0, count: size)
            let sealing = failure {
                var span = output.mutableSpan
                try cipher.seal(plaintext.span, nonce: nonce.span, associatedData: Span(), into: &span)
            }
            #expect(sealing == .invalidInput)
            let opening = failure {
                var span = output.mutableSpan
                try cipher.open(sealed.span, nonce: nonce.span, associatedData: Span(), into: &span)
            }
            #expect(opening == .invalidInput)
        }
    }

    /// One key schedule serves many messages, also after a message was refused.
    @Test("One prepared cipher serves many messages, also after it refused one", arguments: algorithms)
    func goesOnAfterARefusal(algorithm: AEADCipher.Algorithm) throws {
        let sealed = try seal(plaintext, algorithm)
        var cipher = try AEADCipher.make(algorithm, key: [UInt8].counting(algorithm.keySize).span)
        for round in 0..<3 {
            var again = [UInt8](repeating: 0, count: 36)
            var target = again.mutableSpan
            try cipher.seal(plaintext.span, nonce: nonce.span, associatedData: data.span, into: &target)
            #expect(again == sealed)
            again[round] ^= 1
            var opened = [UInt8](repeating: 0, count: 20)
            let code = failure {
                var span = opened.mutableSpan
                try cipher.open(again.span, nonce: nonce.span, associatedData: data.span, into: &span)
            }
            #expect(code == .notAuthentic)
            var span = opened.mutableSpan
            try cipher.open(sealed.span, nonce: nonce.span, associatedData: data.span, into: &span)
            #expect(opened == plaintext)
        }
    }

    /// Inputs longer than OpenSSL counts go in pieces; small pieces stand for the large ones.
    @Test(
        "A message processed in pieces is the same as one processed whole",
        arguments: algorithms, [1, 7, 16, 33])
    func piecesMakeNoDifference(algorithm: AEADCipher.Algorithm, largestPiece: Int) throws {
        let (plaintext, data) = ([UInt8].counting(200), [UInt8].counting(70))
        let whole = try seal(plaintext, algorithm, data: data)
        #expect(try seal(plaintext, algorithm, data: data, largestPiece: largestPiece) == whole)
        let opened = try open(whole, algorithm, data: data, largestPiece: largestPiece)
        #expect(opened.code == nil)
        #expect(opened.output == plaintext)
    }
}
