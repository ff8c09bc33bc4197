import CofferBase
import CofferEngine
import Testing
import TestSupport

@Suite("OpenSSL: AES key wrap")
struct KeyWrapTests {
    private func wrap(_ key: [UInt8], under kek: [UInt8]) throws -> [UInt8] {
        try KeyWrapBinding.wrap(key.span, under: kek.span)
    }

    private func unwrap(_ wrapped: [UInt8], under kek: [UInt8]) throws -> [UInt8] {
        let key = try KeyWrapBinding.unwrap(wrapped.span, under: kek.span)
        return key.span.copied()
    }

    @Test("Wrapping reproduces the values of RFC 3394, 4.1 and 4.6")
    func knownValues() throws {
        let key = [UInt8](hex: "00112233445566778899aabbccddeeff")
        #expect(
            try wrap(key, under: .counting(16)).hex == "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5")
        #expect(
            try wrap(key + .counting(16), under: .counting(32)).hex
                == "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21")
    }

    @Test(
        "A wrapped key unwraps to the same bytes", arguments: [16, 24, 32], [16, 24, 32, 40, 64, 256, 4096])
    func unwrapsWhatItWrapped(kekSize: Int, count: Int) throws {
        let wrapped = try wrap(.counting(count), under: .counting(kekSize))
        #expect(wrapped.count == count + KeyWrapBinding.overhead)
        #expect(try unwrap(wrapped, under: .counting(kekSize)) == .counting(count))
    }

    @Test("A wrapping key that is not 16, 24 or 32 bytes long is refused", arguments: oddKeySizes)
    func refusesWrappingKeys(size: Int) {
        #expect(failure { _ = try wrap(.counting(16), under: .counting(size)) } == .invalidInput)
        #expect(failure { _ = try unwrap(.counting(24), under: .counting(size)) } == .invalidInput)
    }

    @Test(
        "A key that is not whole blocks, too short or too long is not wrapped",
        arguments: [0, 1, 7, 8, 15, 17, 31, 33, 4104])
    func refusesKeys(size: Int) {
        #expect(failure { _ = try wrap(.counting(size), under: .counting(32)) } == .invalidInput)
    }

    @Test(
        "A wrapped key of an impossible size is not authentic",
        arguments: Array(0...23) + [25, 31, 33, 4112])
    func refusesWrappedKeysOfImpossibleSizes(size: Int) {
        #expect(failure { _ = try unwrap(.counting(size), under: .counting(32)) } == .notAuthentic)
    }

    @Test("A flipped bit, another wrapping key and a cut end are not authentic")
    func refusesEveryFlippedBit() throws {
        let wrapped = try wrap(.counting(32), under: .counting(32))
        for other in wrapped.withEachBitFlipped {
            #expect(failure { _ = try unwrap(other, under: .counting(32)) } == .notAuthentic)
        }
        #expect(failure { _ = try unwrap(wrapped, under: .counting(32, from: 1)) } == .notAuthentic)
        #expect(failure { _ = try unwrap(wrapped, under: .counting(16)) } == .notAuthentic)
        #expect(failure { _ = try unwrap(Array(wrapped.dropLast(8)), under: .counting(32)) } == .notAuthentic)
    }
}
