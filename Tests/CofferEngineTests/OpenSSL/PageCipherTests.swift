import CofferEngine
import TestSupport
import Testing

/// The cipher for pages against ``AEADCipher``, which the vectors check.
@Suite("OpenSSL: AES-GCM for pages")
struct PageCipherTests {
    private let key = [UInt8].counting(32)
    private let nonce = [UInt8].counting(12)
    private let data = [UInt8].counting(21)

    private func made() throws -> PageCipher {
        PageCipher(try AEADCipher.make(.aes256GCM, key: key.span))
    }

    /// The ciphertext and the tag as ``AEADCipher`` writes them.
    private func sealed(_ plaintext: [UInt8]) throws -> (body: [UInt8], tag: [UInt8]) {
        var cipher = try AEADCipher.make(.aes256GCM, key: key.span)
        var together = [UInt8](repeating: 0, count: plaintext.count + 16)
        var target = together.mutableSpan
        try cipher.seal(plaintext.span, nonce: nonce.span, associatedData: data.span, into: &target)
        return (Array(together.dropLast(16)), Array(together.suffix(16)))
    }

    private func open(
        _ body: [UInt8], tag: [UInt8], nonce: [UInt8]? = nil, data: [UInt8]? = nil, with cipher: PageCipher
    ) -> (isAuthentic: Bool, page: [UInt8]) {
        var page = body
        var span = page.mutableSpan
        let (nonce, data) = (nonce ?? self.nonce, data ?? self.data)
        let isAuthentic = cipher.open(&span, tag: tag.span, nonce: nonce.span, associatedData: data.span)
        return (isAuthentic, page)
    }

    @Test("Pages are sealed and opened as other messages are", arguments: [0, 1, 16, 976, 4048, 65_488])
    func sameAsMessages(count: Int) throws {
        let plaintext = [UInt8].counting(count)
        let expected = try sealed(plaintext)
        let cipher = try made()
        for _ in 0..<2 {
            var body = [UInt8](repeating: 0xaa, count: count)
            var tag = [UInt8](repeating: 0xaa, count: 16)
            var bodySpan = body.mutableSpan
            var tagSpan = tag.mutableSpan
            let isSealed = cipher.seal(
                plaintext.span, nonce: nonce.span, associatedData: data.span, into: &bodySpan, tag: &tagSpan)
            #expect(isSealed && body == expected.body && tag == expected.tag)
            let opened = open(body, tag: tag, with: cipher)
            #expect(opened.isAuthentic && opened.page == plaintext)
        }
    }

    @Test("A page with a wrong tag, nonce, associated data or body is refused and cleared")
    func refusesAndClears() throws {
        let (body, tag) = try sealed(.counting(100))
        let cipher = try made()
        let tags = tag.withEachBitFlipped + [[], Array(tag.prefix(15)), tag + [0]]
        var results = tags.map { open(body, tag: $0, with: cipher) }
        let nonces = nonce.withEachBitFlipped + [[], Array(nonce.prefix(11)), nonce + [0]]
        results += nonces.map { open(body, tag: tag, nonce: $0, with: cipher) }
        let otherData = data.withEachBitFlipped + [[], Array(data.prefix(20)), data + [0]]
        results += otherData.map { open(body, tag: tag, data: $0, with: cipher) }
        results += body.withEachBitFlipped.map { open($0, tag: tag, with: cipher) }
        for result in results {
            #expect(!result.isAuthentic && result.page.allSatisfy { $0 == 0 })
        }
        // A refused page leaves nothing behind that changes the next one.
        let opened = open(body, tag: tag, with: cipher)
        #expect(opened.isAuthentic && opened.page == .counting(100))
    }

    @Test("The cipher seals nothing with a nonce or into memory of another size")
    func refusesOtherSizes() throws {
        let cipher = try made()
        for (bodySize, tagSize, nonceSize) in [
            (32, 16, 12), (34, 16, 12), (33, 15, 12), (33, 17, 12), (33, 0, 12), (33, 16, 11), (33, 16, 13),
            (33, 16, 0),
        ] {
            var body = [UInt8](repeating: 0xaa, count: bodySize)
            var tag = [UInt8](repeating: 0xaa, count: tagSize)
            var bodySpan = body.mutableSpan
            var tagSpan = tag.mutableSpan
            let isSealed = cipher.seal(
                [UInt8].counting(33).span, nonce: [UInt8].counting(nonceSize).span, associatedData: data.span,
                into: &bodySpan, tag: &tagSpan)
            #expect(!isSealed && (body + tag).allSatisfy { $0 == 0xaa })
        }
    }
}
