import CofferBase
import CofferEngine
import Testing
import TestSupport

@Suite("libsodium: XChaCha20-Poly1305")
struct XChaChaTests {
    private let key = [UInt8].counting(32, from: 0x80)
    private let nonce = [UInt8].counting(24, from: 0x40)
    private let data = [UInt8](hex: "50515253c0c1c2c3c4c5c6c7")
    private let plaintext = [UInt8].counting(20)

    private func seal(
        _ plaintext: [UInt8], key: [UInt8]? = nil, nonce: [UInt8]? = nil, data: [UInt8]? = nil
    ) throws -> [UInt8] {
        let (key, nonce, data) = (key ?? self.key, nonce ?? self.nonce, data ?? self.data)
        var sealed = [UInt8](repeating: 0, count: plaintext.count + 16)
        var span = sealed.mutableSpan
        try XChaChaBinding.seal(
            plaintext.span, key: key.span, nonce: nonce.span, associatedData: data.span, into: &span)
        return sealed
    }

    private func open(
        _ sealed: [UInt8], key: [UInt8]? = nil, nonce: [UInt8]? = nil, data: [UInt8]? = nil
    ) -> (code: CofferError.Code?, output: [UInt8]) {
        let (key, nonce, data) = (key ?? self.key, nonce ?? self.nonce, data ?? self.data)
        var output = [UInt8](repeating: 0xaa, count: max(sealed.count - 16, 0))
        let code = failure {
            var span = output.mutableSpan
            try XChaChaBinding.open(
                sealed.span, key: key.span, nonce: nonce.span, associatedData: data.span, into: &span)
        }
        return (code, output)
    }

    private func expectRefused(_ result: (code: CofferError.Code?, output: [UInt8])) {
        #expect(result.code == .notAuthentic)
        #expect(result.output.allSatisfy { $0 == 0 })
    }

    @Test("Sealing reproduces draft-irtf-cfrg-xchacha-03, A.3.1, at both ends")
    func knownValue() throws {
        let text =
            "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
            + "sunscreen would be it."
        let sealed = try seal(Array(text.utf8))
        #expect(Array(sealed.prefix(16)).hex == "bd6d179d3e83d43b9576579493c0e939")
        #expect(Array(sealed.suffix(16)).hex == "c0875924c1c7987947deafd8780acf49")
    }

    @Test("The cipher opens what it sealed, with and without associated data", arguments: [0, 1, 63, 64, 65])
    func opensWhatItSealed(count: Int) throws {
        for data in [[], [UInt8].counting(33)] {
            let result = open(try seal(.counting(count), data: data), data: data)
            #expect(result.code == nil)
            #expect(result.output == .counting(count))
        }
    }

    @Test("A key that is not 32 bytes long is refused", arguments: oddKeySizes + [16, 24])
    func refusesKeys(size: Int) throws {
        #expect(failure { _ = try seal(plaintext, key: .counting(size)) } == .invalidInput)
        #expect(open(try seal(plaintext), key: .counting(size)).code == .invalidInput)
    }

    @Test("A nonce that is not 24 bytes long is refused", arguments: oddNonceSizes + [12, 23, 25])
    func refusesNonces(size: Int) throws {
        #expect(failure { _ = try seal(plaintext, nonce: .counting(size)) } == .invalidInput)
        #expect(open(try seal(plaintext), nonce: .counting(size)).code == .invalidInput)
    }

    @Test("A tag that is not 16 bytes long is refused", arguments: Array(0...15) + [17])
    func refusesTags(size: Int) throws {
        for plaintext in [[], plaintext] {
            let sealed = try seal(plaintext)
            expectRefused(open(size == 17 ? sealed + [0] : Array(sealed.prefix(plaintext.count + size))))
        }
    }

    @Test("A flipped bit in message, nonce, associated data or key is refused")
    func refusesEveryFlippedBit() throws {
        let sealed = try seal(plaintext)
        for other in sealed.withEachBitFlipped { expectRefused(open(other)) }
        for other in nonce.withEachBitFlipped { expectRefused(open(sealed, nonce: other)) }
        for other in data.withEachBitFlipped { expectRefused(open(sealed, data: other)) }
        for other in key.withEachBitFlipped { expectRefused(open(sealed, key: other)) }
    }

    @Test("The output buffer must have exactly the needed size", arguments: [0, 15, 19, 21, 35, 37])
    func needsExactlyItsRoom(size: Int) throws {
        var output = [UInt8](repeating: 0, count: size)
        let sealed = try seal(plaintext)
        let sealing = failure {
            var span = output.mutableSpan
            try XChaChaBinding.seal(
                plaintext.span, key: key.span, nonce: nonce.span, associatedData: Span(), into: &span)
        }
        let opening = failure {
            var span = output.mutableSpan
            try XChaChaBinding.open(
                sealed.span, key: key.span, nonce: nonce.span, associatedData: Span(), into: &span)
        }
        #expect(sealing == .invalidInput)
        #expect(opening == .invalidInput)
    }
}
