import CofferBase
import CofferCrypto
import Testing
import TestSupport

@Suite("Wrapped keys")
struct WrappedKeyTests {
    private let context = Array("vault 1, class 2".utf8)

    private func wrap(generation: UInt32 = 7) throws -> WrappedKey {
        try WrappedKey.wrap(
            try key(.counting(32, from: 0x80)), under: try key(.counting(32)), id: .counting(16),
            generation: generation, context: context.span)
    }

    private func unwrap(
        _ wrapped: WrappedKey, kek: [UInt8] = .counting(32), context: [UInt8]? = nil
    ) throws -> Bool {
        let context = context ?? self.context
        let unwrapped = try wrapped.unwrap(under: try key(kek), context: context.span)
        return unwrapped.isEqual(to: try key(.counting(32, from: 0x80)))
    }

    private func decode(_ bytes: [UInt8]) throws -> WrappedKey { try WrappedKey.decode(bytes.span) }

    @Test("A wrapped key is decoded and unwrapped, with its identifier and generation")
    func comesBack() throws {
        let wrapped = try wrap()
        #expect(wrapped.encoded.count == WrappedKey.encodedSize)
        #expect(Array(wrapped.encoded.prefix(24)) == [1, 0, 0, 0, 0, 0, 0, 7] + .counting(16))
        let decoded = try decode(wrapped.encoded)
        #expect(decoded == wrapped)
        #expect(decoded.id == .counting(16))
        #expect(decoded.generation == 7)
        #expect(try unwrap(decoded))
        #expect(try wrap() != wrapped, "a new nonce each time")
    }

    @Test("Each wrapped key has an identifier of its own")
    func newKeysHaveNewIdentifiers() throws {
        func identifier() throws -> [UInt8] {
            try WrappedKey.wrap(try key(.counting(32)), under: try key(.counting(32)), context: Span()).id
        }
        #expect(try identifier() != identifier())
        #expect(try identifier().count == 16)
    }

    @Test("A wrapped key does not open in another context, generation or place")
    func cannotBeMoved() throws {
        let wrapped = try wrap()
        #expect(failure { _ = try unwrap(wrapped, context: Array("vault 1, class 3".utf8)) } == .notAuthentic)
        #expect(failure { _ = try unwrap(wrapped, context: []) } == .notAuthentic)
        #expect(failure { _ = try unwrap(wrapped, context: context + [0]) } == .notAuthentic)
        #expect(failure { _ = try unwrap(wrapped, kek: .counting(32, from: 1)) } == .notAuthentic)
        // The tail of one under the head of another: an older generation put back, or another key's place
        // taken.
        let older = try wrap(generation: 6)
        let mixed = try decode(Array(wrapped.encoded.prefix(24)) + older.encoded.suffix(72))
        #expect(failure { _ = try unwrap(mixed) } == .notAuthentic)
        var renamed = wrapped.encoded
        renamed[8] ^= 1
        let other = try decode(renamed)
        #expect(failure { _ = try unwrap(other) } == .notAuthentic)
    }

    @Test("A flipped bit is damage, another version or not authentic")
    func everyBitCounts() throws {
        for flipped in try wrap().encoded.withEachBitFlipped {
            let code = failure { _ = try unwrap(try decode(flipped)) }
            #expect(
                code
                    == (flipped[0] != 1
                        ? .unsupportedVersion : flipped[1...3] != [0, 0, 0] ? .corrupt : .notAuthentic))
        }
    }

    @Test("An unknown algorithm is reported as an unsupported version", arguments: [0, 2, 255] as [UInt8])
    func otherAlgorithmsAreAnotherVersion(algorithm: UInt8) throws {
        let bytes = [algorithm] + (try wrap().encoded.dropFirst())
        #expect(failure { _ = try decode(bytes) } == .unsupportedVersion)
    }

    @Test("A wrapped key of another size is corrupt", arguments: [0, 1, 24, 95, 97, 192])
    func otherSizesAreCorrupt(size: Int) throws {
        let bytes = Array(((try wrap().encoded) + .counting(96)).prefix(size))
        #expect(failure { _ = try decode(bytes) } == .corrupt)
    }

    @Test(
        "A key that is not 32 bytes long is neither wrapped nor used for wrapping",
        arguments: oddKeySizes + [16, 24])
    func refusesKeysOfAnotherSize(size: Int) throws {
        let odd = try key(.counting(size))
        let right = try key(.counting(32))
        #expect(failure { _ = try WrappedKey.wrap(odd, under: right, context: Span()) } == .invalidInput)
        #expect(failure { _ = try WrappedKey.wrap(right, under: odd, context: Span()) } == .invalidInput)
        let wrapped = try wrap()
        #expect(failure { _ = try wrapped.unwrap(under: odd, context: Span()) } == .invalidInput)
    }

    @Test("An identifier that is not 16 bytes long is refused", arguments: [0, 15, 17])
    func refusesIdentifiersOfAnotherSize(size: Int) throws {
        let right = try key(.counting(32))
        let code = failure {
            _ = try WrappedKey.wrap(right, under: right, id: .counting(size), context: Span())
        }
        #expect(code == .invalidInput)
    }
}
