import CofferBase
import CofferEngine
import Testing
import TestSupport

@Suite("libsodium: Argon2id")
struct Argon2idBindingTests {
    private func derive(
        salt: [UInt8] = .counting(16), passes: Int = 2, memory: Int = 8192 * 1024, count: Int = 32
    ) throws -> [UInt8] {
        var output = [UInt8](repeating: 0, count: count)
        var span = output.mutableSpan
        try Argon2idBinding.derive(
            secret: Array("passcode".utf8).span, salt: salt.span, passes: passes, memoryBytes: memory,
            into: &span)
        return output
    }

    /// Computed by another implementation (pyca/cryptography 48 over OpenSSL).
    @Test("The keys are those that another implementation computed")
    func knownValues() throws {
        #expect(
            try derive(passes: 3, memory: 64 * 1024).hex
                == "057cfa2fa8cfd8a8195d4d81582cdfb946f73d0d5077e1f49e11ee120044ab67")
        #expect(try derive().hex == "1b583481273fc0a436a080b4d9977739454d3d529d3b1ead480cb81310831374")
    }

    @Test("A salt that is not 16 bytes long is refused", arguments: [0, 8, 15, 17, 32])
    func refusesSalts(size: Int) {
        #expect(failure { _ = try derive(salt: .counting(size)) } == .invalidInput)
    }

    @Test("Costs and key sizes below the least are refused")
    func refusesCostsAndSizes() {
        for passes in [0, -1, Int.min] {
            #expect(failure { _ = try derive(passes: passes) } == .invalidInput)
        }
        for memory in [0, -1, 8191] { #expect(failure { _ = try derive(memory: memory) } == .invalidInput) }
        for count in [0, 1, 15] { #expect(failure { _ = try derive(count: count) } == .invalidInput) }
    }

    @Test("A memory cost that the machine lacks fails with outOfMemory")
    func saysWhenMemoryCannotBeHad() {
        #expect(failure { _ = try derive(memory: 1 << 60) } == .outOfMemory)
    }
}

@Suite("libsodium: encodings")
struct EncodingTests {
    private func text(_ bytes: borrowing GuardedBytes) -> String {
        String(decoding: bytes.span.copied(), as: UTF8.self)
    }

    @Test("Hexadecimal text decodes to the bytes that were encoded", arguments: [0, 1, 15, 256])
    func hexComesBack(count: Int) throws {
        let bytes = [UInt8].counting(count)
        let hex = try Encoding.hex(bytes.span)
        #expect(text(hex) == bytes.hex)
        let back = try Encoding.decodeHex(hex.span)
        #expect(back.span.copied() == bytes)
    }

    @Test(
        "Base64 reproduces the examples of RFC 4648, section 10",
        arguments: zip(["", "f", "fo", "foo", "foob"], ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]))
    func base64(plain: String, encoded: String) throws {
        let result = try Encoding.base64(Array(plain.utf8).span)
        #expect(text(result) == encoded)
    }

    @Test("Base64 uses the standard alphabet, with plus and slash")
    func base64UsesTheStandardAlphabet() throws {
        let result = try Encoding.base64([0xfb, 0xff, 0xfe].span)
        #expect(text(result) == "+//+")
    }

    @Test("A byte above 0x7F is no character of Base64")
    func highBits() throws {
        let text = Array("QUJDREVG".utf8)
        for index in text.indices {
            for bit in UInt8(0x80)...0xFF {
                var bytes = text
                bytes[index] = bit
                #expect(failure { _ = try Encoding.decodeBase64URL(bytes.span) } == .invalidInput)
                #expect(failure { _ = try Encoding.decodeBase64Lines(bytes.span) } == .invalidInput)
                #expect(failure { _ = try Encoding.decodeBase64Text(bytes) } == .invalidInput)
                #expect(
                    failure { _ = try Encoding.decodeBase64Text(bytes, isPadded: false) } == .invalidInput)
            }
        }
    }

    @Test(
        "The Base64 decoders skip no NUL",
        arguments: ["\0", "\0AQID", "AQ\0ID", "AQID\0", "AQID\0\0", "AQ\0==", "AQ==\0", "AQ=\0="])
    func base64WithNUL(text: String) {
        let bytes = Array(text.utf8)
        #expect(failure { _ = try Encoding.decodeBase64URL(bytes.span) } == .invalidInput)
        #expect(failure { _ = try Encoding.decodeBase64Lines(bytes.span) } == .invalidInput)
        #expect(failure { _ = try Encoding.decodeBase64Text(bytes) } == .invalidInput)
    }

    @Test("Base64 in lines ignores the ends of lines only")
    func base64Lines() throws {
        let decoded = try Encoding.decodeBase64Lines(Array("AQ\r\nI=\n".utf8).span)
        #expect(decoded.span.copied() == [1, 2])
        for bad in ["AQ I=", "AQ\tI=", "AQI=-"] {
            #expect(failure { _ = try Encoding.decodeBase64Lines(Array(bad.utf8).span) } == .invalidInput)
        }
    }

    @Test("The decoder accepts upper-case digits")
    func takesUpperCase() throws {
        let result = try Encoding.decodeHex(Array("0aFf".utf8).span)
        #expect(result.span.copied() == [0x0a, 0xff])
    }

    @Test(
        "The decoder refuses everything but pairs of ASCII hexadecimal digits",
        arguments: ["0", "0g", "abc", "0x00", " 00", "00 ", "00\n", "0:0", "-1", "\u{ff10}0", "a\0", "0\0"])
    func refusesWhatIsNotHex(text: String) {
        #expect(failure { _ = try Encoding.decodeHex(Array(text.utf8).span) } == .invalidInput)
    }
}
