import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("AES-CMAC and AES-GMAC") struct BlockMACTests {
    private let message = [UInt8].counting(40)
    private let nonce = [UInt8].counting(12, from: 0x80)

    @Test("Only the whole right tag is valid, under the right key and nonce", arguments: [16, 24, 32])
    func onlyTheWholeRightTagIsValid(size: Int) throws {
        let right = try key(.counting(size))
        let other = try key(.counting(size, from: 1))
        let cmac = try CMAC.authenticate(message.span, key: right)
        let gmac = try GMAC.authenticate(message.span, nonce: nonce.span, key: right)
        #expect(cmac.count == CMAC.tagSize && gmac.count == GMAC.tagSize && cmac != gmac)
        for wrong in cmac.withEachBitFlipped + (0..<16).map({ Array(cmac.prefix($0)) }) + [cmac + [0], gmac] {
            #expect(try !CMAC.isValid(wrong.span, for: message.span, key: right))
        }
        for wrong in gmac.withEachBitFlipped + (0..<16).map({ Array(gmac.prefix($0)) }) + [gmac + [0], cmac] {
            #expect(try !GMAC.isValid(wrong.span, for: message.span, nonce: nonce.span, key: right))
        }
        let longer = message + [0]
        #expect(try !CMAC.isValid(cmac.span, for: longer.span, key: right))
        #expect(try !GMAC.isValid(gmac.span, for: longer.span, nonce: nonce.span, key: right))
        #expect(try !CMAC.isValid(cmac.span, for: message.span, key: other))
        #expect(try !GMAC.isValid(gmac.span, for: message.span, nonce: nonce.span, key: other))
        let another = [UInt8].counting(12)
        #expect(try !GMAC.isValid(gmac.span, for: message.span, nonce: another.span, key: right))
        #expect(try CMAC.isValid(cmac.span, for: message.span, key: right))
        #expect(try GMAC.isValid(gmac.span, for: message.span, nonce: nonce.span, key: right))
    }

    @Test("GMAC is GCM's tag over associated data alone") func gmacIsGCM() throws {
        var gcm = try UnsafeNonceAEAD.prepare(.aes256GCM, key: try key(.counting(32)))
        var tag = [UInt8](repeating: 0, count: 16)
        var span = tag.mutableSpan
        try gcm.seal(Span(), nonce: nonce.span, associatedData: message.span, into: &span)
        #expect(try GMAC.authenticate(message.span, nonce: nonce.span, key: key(.counting(32))) == tag)
    }

    @Test("A key that is not 16, 24 or 32 bytes long is refused", arguments: oddKeySizes + [48])
    func refusesKeys(size: Int) throws {
        #expect(
            failure { _ = try CMAC.authenticate(message.span, key: try key(.counting(size))) }
                == .invalidInput)
        let code = failure {
            _ = try GMAC.authenticate(message.span, nonce: nonce.span, key: try key(.counting(size)))
        }
        #expect(code == .invalidInput)
    }

    @Test("GMAC refuses a nonce that is not 12 bytes long", arguments: oddNonceSizes + [16, 24])
    func refusesNonces(size: Int) throws {
        let nonce = [UInt8].counting(size)
        let code = failure {
            _ = try GMAC.authenticate(message.span, nonce: nonce.span, key: try key(.counting(32)))
        }
        #expect(code == .invalidInput)
    }
}
