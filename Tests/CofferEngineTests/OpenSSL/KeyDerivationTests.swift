import CofferBase
import CofferEngine
import Testing
import TestSupport

@Suite("OpenSSL: HKDF")
struct HKDFTests {
    private func derive(
        _ key: [UInt8], salt: [UInt8] = [], info: [UInt8] = [], digest: DigestAlgorithm = .sha256,
        mode: HKDFBinding.Mode = .extractAndExpand, count: Int
    ) throws -> [UInt8] {
        var output = [UInt8](repeating: 0, count: count)
        var span = output.mutableSpan
        try HKDFBinding.derive(
            key: key.span, salt: salt.span, info: info.span, digest: digest, mode: mode, into: &span)
        return output
    }

    /// RFC 5869, test cases 1 and 3 (no salt, no info), and the second step of case 1 by itself.
    @Test("The keys are those of RFC 5869, test cases 1 and 3")
    func knownValues() throws {
        let key = [UInt8](repeating: 0x0b, count: 22)
        let info = [UInt8].counting(10, from: 0xf0)
        let expected =
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        #expect(try derive(key, salt: .counting(13), info: info, count: 42).hex == expected)
        let extracted = [UInt8](hex: "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5")
        #expect(try derive(extracted, info: info, mode: .expandOnly, count: 42).hex == expected)
        #expect(
            try derive(key, count: 42).hex
                == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
    }

    @Test("HKDF derives between one byte and 255 blocks", arguments: DigestAlgorithm.allCases)
    func givesAtMost255Blocks(digest: DigestAlgorithm) throws {
        let most = 255 * digest.size
        #expect(try derive([1], digest: digest, count: most).count == most)
        #expect(failure { _ = try derive([1], digest: digest, count: most + 1) } == .invalidInput)
        #expect(failure { _ = try derive([1], digest: digest, count: 0) } == .invalidInput)
    }

    @Test("A missing salt stands for a block of zeros, as RFC 5869 says")
    func emptyInputs() throws {
        let zeros = [UInt8](repeating: 0, count: 32)
        #expect(try derive([1], count: 32) == derive([1], salt: zeros, count: 32))
        #expect(try derive([], salt: [1], count: 32) != derive([0xff], salt: [1], count: 32))
        var output = [UInt8](repeating: 0, count: 32)
        var span = output.mutableSpan
        try HKDFBinding.derive(
            key: [1].span, salt: Span(), info: Span(), digest: .sha256, mode: .extractAndExpand, into: &span)
        #expect(try output == derive([1], count: 32))
    }

    @Test("Secret, salt, info, digest and mode each change the key, and its length does not")
    func everyInputCounts() throws {
        let right = try derive([1], salt: [2], info: [3], count: 32)
        #expect(try derive([0], salt: [2], info: [3], count: 32) != right)
        #expect(try derive([1], salt: [0], info: [3], count: 32) != right)
        #expect(try derive([1], salt: [2], info: [0], count: 32) != right)
        #expect(try derive([1], salt: [2], info: [3], digest: .sha512, count: 32) != right)
        #expect(try derive([1], salt: [2], info: [3], mode: .expandOnly, count: 32) != right)
        #expect(try derive([1], salt: [2], info: [3], count: 64).prefix(32) == right[...])
    }
}

@Suite("OpenSSL: PBKDF2")
struct PBKDF2Tests {
    private func derive(
        _ secret: [UInt8], salt: [UInt8], rounds: Int, digest: DigestAlgorithm = .sha1, count: Int
    ) throws -> [UInt8] {
        var output = [UInt8](repeating: 0, count: count)
        var span = output.mutableSpan
        try PBKDF2Binding.derive(
            secret: secret.span, salt: salt.span, rounds: rounds, digest: digest, into: &span)
        return output
    }

    @Test(
        "The keys are those of RFC 6070",
        arguments: [
            1: "0c60c80f961f0e71f3a9b524af6012062fe037a6", 2: "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957",
            4096: "4b007901b765489abead49d926f721d065a429c1",
        ])
    func knownValues(rounds: Int, expected: String) throws {
        let result = try derive(Array("password".utf8), salt: Array("salt".utf8), rounds: rounds, count: 20)
        #expect(result.hex == expected)
    }

    @Test("Zero bytes in secret and salt count, as in RFC 6070")
    func zeroBytesCount() throws {
        let result = try derive(Array("pass\0word".utf8), salt: Array("sa\0lt".utf8), rounds: 4096, count: 16)
        #expect(result.hex == "56fa6aa75548099dcc37d7f03425e0c3")
    }

    @Test(
        "PBKDF2 refuses a number of rounds that is not positive or exceeds 31 bits",
        arguments: [0, -1, 1 << 31, Int.min, Int.max])
    func refusesRounds(rounds: Int) {
        #expect(failure { _ = try derive([1], salt: [2], rounds: rounds, count: 20) } == .invalidInput)
    }

    @Test("PBKDF2 refuses to derive no bytes, which OpenSSL reports as success")
    func refusesNoOutput() {
        #expect(failure { _ = try derive([1], salt: [2], rounds: 1, count: 0) } == .invalidInput)
    }

    @Test("An empty secret and an empty salt are valid and differ from zero bytes")
    func takesEmptyInputs() throws {
        let result = try derive([], salt: [], rounds: 1, digest: .sha256, count: 32)
        var output = [UInt8](repeating: 0, count: 32)
        var span = output.mutableSpan
        try PBKDF2Binding.derive(secret: Span(), salt: Span(), rounds: 1, digest: .sha256, into: &span)
        #expect(output == result)
        #expect(try derive([0], salt: [0], rounds: 1, digest: .sha256, count: 32) != result)
    }
}
