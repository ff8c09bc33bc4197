import CofferBase
import CofferEngine
import Testing
import TestSupport

@Suite("OpenSSL: XAES-256-GCM")
struct XAESCipherTests {
    private let key = [UInt8].counting(32)
    private let data = [UInt8].counting(7, from: 0x50)
    private let plaintext = [UInt8].counting(40, from: 0x60)

    private func nonce(_ prefix: UInt8, _ suffix: UInt8) -> [UInt8] {
        [UInt8](repeating: prefix, count: 12) + [UInt8](repeating: suffix, count: 12)
    }

    private func seal(_ plaintext: [UInt8], _ cipher: inout XAESCipher, nonce: [UInt8]) throws -> [UInt8] {
        var sealed = [UInt8](repeating: 0, count: plaintext.count + 16)
        var span = sealed.mutableSpan
        try cipher.seal(plaintext.span, nonce: nonce.span, associatedData: data.span, into: &span)
        return sealed
    }

    @Test("Sealing in place writes the same bytes as sealing into another buffer")
    func inPlaceAsIntoASpan() throws {
        var cipher = try XAESCipher.make(key: key.span)
        for (prefix, suffix) in [(0, 0), (0, 1), (7, 1), (0, 2)] as [(UInt8, UInt8)] {
            let nonce = nonce(prefix, suffix)
            let sealed = try seal(plaintext, &cipher, nonce: nonce)
            var buffer = plaintext + [UInt8](repeating: 0, count: 16)
            var span = buffer.mutableSpan
            try cipher.sealInPlace(&span, nonce: nonce.span, associatedData: data.span)
            #expect(buffer == sealed)
            var opening = buffer.mutableSpan
            try cipher.openInPlace(&opening, nonce: nonce.span, associatedData: data.span)
            #expect(Array(buffer.prefix(40)) == plaintext)
        }
    }

    @Test("A cipher derived for a nonce prefix seals as the whole nonce does")
    func theDerivedCipherIsTheSame() throws {
        var cipher = try XAESCipher.make(key: key.span)
        let prefix = [UInt8](repeating: 9, count: 12)
        var derived = try cipher.derived(prefix: prefix.span)
        // What was derived for others leaves the kept context as it was.
        #expect(
            try seal(plaintext, &cipher, nonce: nonce(0, 3)) == seal(plaintext, &cipher, nonce: nonce(0, 3)))
        let sealed = try seal(plaintext, &cipher, nonce: nonce(9, 3))
        var body = [UInt8](repeating: 0, count: 40)
        var tag = [UInt8](repeating: 0, count: 16)
        var bodySpan = body.mutableSpan
        var tagSpan = tag.mutableSpan
        let suffix = [UInt8](repeating: 3, count: 12)
        try derived.seal(
            plaintext.span, nonce: suffix.span, associatedData: data.span, into: &bodySpan, tag: &tagSpan)
        #expect(body + tag == sealed)
    }

    @Test("A flipped bit in message, nonce or key is refused and leaves no plaintext")
    func refusesEveryFlippedBit() throws {
        var cipher = try XAESCipher.make(key: key.span)
        let right = nonce(1, 2)
        let sealed = try seal(plaintext, &cipher, nonce: right)
        func open(_ sealed: [UInt8], _ nonce: [UInt8], _ cipher: inout XAESCipher) -> Bool {
            var output = [UInt8](repeating: 0xaa, count: 40)
            let code = failure {
                var span = output.mutableSpan
                try cipher.open(sealed.span, nonce: nonce.span, associatedData: data.span, into: &span)
            }
            return code == nil || (code == .notAuthentic && output.contains { $0 != 0 })
        }
        for other in sealed.withEachBitFlipped { #expect(!open(other, right, &cipher)) }
        for other in right.withEachBitFlipped { #expect(!open(sealed, other, &cipher)) }
        for other in key.withEachBitFlipped {
            var wrong = try XAESCipher.make(key: other.span)
            #expect(!open(sealed, right, &wrong))
        }
        #expect(open(sealed, right, &cipher))
    }

    @Test("The cipher refuses a key that is not 32 bytes long", arguments: oddKeySizes + [16, 24])
    func refusesKeysOfAnotherSize(size: Int) {
        #expect(failure { _ = try XAESCipher.make(key: [UInt8].counting(size).span) } == .invalidInput)
    }

    @Test(
        "The cipher refuses a nonce that is not 24 bytes long", arguments: oddNonceSizes + [12, 23, 25, 32])
    func refusesNoncesOfAnotherSize(size: Int) throws {
        var cipher = try XAESCipher.make(key: key.span)
        let odd = [UInt8].counting(size)
        #expect(failure { _ = try seal(plaintext, &cipher, nonce: odd) } == .invalidInput)
        var buffer = [UInt8](repeating: 0, count: 40)
        let opening = failure {
            var span = buffer.mutableSpan
            try cipher.openInPlace(&span, nonce: odd.span, associatedData: Span())
        }
        #expect(opening == .invalidInput)
    }
}

/// The forms of `AEADCipher` that keep the tag apart.
@Suite("OpenSSL: AES-GCM with a separate tag")
struct DetachedTagTests {
    private let nonce = [UInt8].counting(12)
    private let data = [UInt8].counting(5)

    @Test("A separate tag is the one that is appended otherwise, also in place", arguments: [0, 1, 16, 100])
    func sameBytesAsTogether(count: Int) throws {
        let plaintext = [UInt8].counting(count)
        var cipher = try AEADCipher.make(.aes256GCM, key: [UInt8].counting(32).span)
        var together = [UInt8](repeating: 0, count: count + 16)
        var target = together.mutableSpan
        try cipher.seal(plaintext.span, nonce: nonce.span, associatedData: data.span, into: &target)
        var (apart, inPlace) = ([UInt8](repeating: 0, count: count), plaintext)
        var (tag, otherTag) = ([UInt8](repeating: 0, count: 16), [UInt8](repeating: 0, count: 16))
        var body = apart.mutableSpan
        var tagSpan = tag.mutableSpan
        try cipher.seal(
            plaintext.span, nonce: nonce.span, associatedData: data.span, into: &body, tag: &tagSpan)
        var buffer = inPlace.mutableSpan
        var otherSpan = otherTag.mutableSpan
        try cipher.sealInPlace(&buffer, tag: &otherSpan, nonce: nonce.span, associatedData: data.span)
        #expect(apart + tag == together && inPlace + otherTag == together)
        var opened = [UInt8](repeating: 0xaa, count: count)
        var output = opened.mutableSpan
        try cipher.open(
            apart.span, tag: tag.span, nonce: nonce.span, associatedData: data.span, into: &output)
        var opening = inPlace.mutableSpan
        try cipher.openInPlace(&opening, tag: tag.span, nonce: nonce.span, associatedData: data.span)
        #expect(opened == plaintext && inPlace == plaintext)
    }

    @Test("A wrong or cut tag is refused, and the output is cleared")
    func refusesAndClears() throws {
        var cipher = try AEADCipher.make(.aes256GCM, key: [UInt8].counting(32).span)
        var (body, tag) = ([UInt8].counting(33), [UInt8](repeating: 0, count: 16))
        var bodySpan = body.mutableSpan
        var tagSpan = tag.mutableSpan
        try cipher.sealInPlace(&bodySpan, tag: &tagSpan, nonce: nonce.span, associatedData: data.span)
        for wrong in tag.withEachBitFlipped + [[], Array(tag.prefix(15)), tag + [0]] {
            var (copy, output) = (body, [UInt8](repeating: 0xaa, count: 33))
            let inPlace = failure {
                var span = copy.mutableSpan
                try cipher.openInPlace(&span, tag: wrong.span, nonce: nonce.span, associatedData: data.span)
            }
            let apart = failure {
                var span = output.mutableSpan
                try cipher.open(
                    body.span, tag: wrong.span, nonce: nonce.span, associatedData: data.span, into: &span)
            }
            #expect(inPlace == .notAuthentic && apart == .notAuthentic)
            #expect((copy + output).allSatisfy { $0 == 0 })
        }
    }

    @Test("The cipher refuses a body or tag buffer of another size")
    func refusesSpacesOfAnotherSize() throws {
        var cipher = try AEADCipher.make(.aes256GCM, key: [UInt8].counting(32).span)
        for (bodySize, tagSize) in [(32, 16), (34, 16), (33, 15), (33, 17), (33, 0)] {
            var body = [UInt8](repeating: 0, count: bodySize)
            var tag = [UInt8](repeating: 0, count: tagSize)
            let code = failure {
                var bodySpan = body.mutableSpan
                var tagSpan = tag.mutableSpan
                try cipher.seal(
                    [UInt8].counting(33).span, nonce: nonce.span, associatedData: data.span,
                    into: &bodySpan, tag: &tagSpan)
            }
            #expect(code == .invalidInput)
        }
    }
}
