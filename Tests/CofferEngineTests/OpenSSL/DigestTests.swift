import CofferBase
import CofferEngine
import Testing
import TestSupport

@Suite("OpenSSL: digests")
struct DigestTests {
    private func digest(_ algorithm: DigestAlgorithm, _ pieces: [[UInt8]], room: Int? = nil) throws -> [UInt8]
    {
        var context = try DigestContext.make(algorithm)
        for piece in pieces { try context.update(piece.span) }
        var result = [UInt8](repeating: 0, count: room ?? algorithm.size)
        var span = result.mutableSpan
        try context.finish(into: &span)
        return result
    }

    @Test(
        "Every digest of \"abc\" is the one in FIPS 180-4",
        arguments: zip(
            DigestAlgorithm.allCases,
            [
                "a9993e364706816aba3e25717850c26c9cd0d89d",
                "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded163"
                    + "1a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                    + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ]))
    func knownValue(algorithm: DigestAlgorithm, expected: String) throws {
        #expect(try digest(algorithm, [Array("abc".utf8)]).hex == expected)
    }

    @Test("A message hashed in pieces has the digest of the whole", arguments: DigestAlgorithm.allCases)
    func piecesMakeNoDifference(algorithm: DigestAlgorithm) throws {
        let message = [UInt8].counting(200)
        let whole = try digest(algorithm, [message])
        #expect(try digest(algorithm, message.map { [$0] } + [[]]) == whole)
        #expect(try digest(algorithm, []) == digest(algorithm, [[]]))
        #expect(try digest(algorithm, []) != whole)
    }

    @Test("The output must have exactly the size of the digest", arguments: DigestAlgorithm.allCases)
    func needsExactlyItsRoom(algorithm: DigestAlgorithm) {
        for room in [0, algorithm.size - 1, algorithm.size + 1] {
            #expect(failure { _ = try digest(algorithm, [[1]], room: room) } == .invalidInput)
        }
    }
}

@Suite("OpenSSL: HMAC")
struct HMACTests {
    private func tag(
        _ message: [UInt8], key: [UInt8], _ digest: DigestAlgorithm, room: Int? = nil
    ) throws -> [UInt8] {
        var result = [UInt8](repeating: 0, count: room ?? digest.size)
        var span = result.mutableSpan
        try HMACBinding.authenticate(message.span, key: key.span, digest: digest, into: &span)
        return result
    }

    @Test("The tag is that of RFC 4231, test case 2")
    func knownValue() throws {
        let tag = try tag(
            Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8), .sha256)
        #expect(tag.hex == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test(
        "An empty key stands for a block of zeros, and an empty message has a tag",
        arguments: DigestAlgorithm.allCases)
    func emptyKeysAndMessages(digest: DigestAlgorithm) throws {
        let block = [UInt8](repeating: 0, count: digest.size > 32 ? 128 : 64)
        #expect(try tag([1, 2], key: [], digest) == tag([1, 2], key: block, digest))
        #expect(try tag([], key: [1], digest).count == digest.size)
        var none = [UInt8](repeating: 0, count: digest.size)
        var span = none.mutableSpan
        try HMACBinding.authenticate(Span(), key: Span(), digest: digest, into: &span)
        #expect(try none == tag([], key: [], digest))
    }

    @Test(
        "Every bit of key and message changes the tag, whose size is fixed",
        arguments: DigestAlgorithm.allCases)
    func keyMessageAndDigestCount(digest: DigestAlgorithm) throws {
        let (key, message) = ([UInt8].counting(32), [UInt8].counting(10))
        let right = try tag(message, key: key, digest)
        for other in key.withEachBitFlipped { #expect(try tag(message, key: other, digest) != right) }
        for other in message.withEachBitFlipped { #expect(try tag(other, key: key, digest) != right) }
        for room in [0, digest.size - 1, digest.size + 1] {
            #expect(failure { _ = try tag(message, key: key, digest, room: room) } == .invalidInput)
        }
    }

    @Test("A message authenticated in pieces has the tag of the whole")
    func piecesMakeNoDifference() throws {
        let message = [UInt8].counting(150)
        var context = try HMACContext.make(key: [UInt8].counting(7).span, digest: .sha512)
        for byte in message { try context.update([byte].span) }
        try context.update(Span())
        var result = [UInt8](repeating: 0, count: 64)
        var span = result.mutableSpan
        try context.finish(into: &span)
        #expect(try result == tag(message, key: .counting(7), .sha512))
    }
}
