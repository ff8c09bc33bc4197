import CofferBase
import CofferCrypto
import Testing

@Suite("The transport of secrets")
struct SecretTransportTests {
    private static let prime: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xC9, 0x0F, 0xDA, 0xA2, 0x21, 0x68, 0xC2, 0x34,
        0xC4, 0xC6, 0x62, 0x8B, 0x80, 0xDC, 0x1C, 0xD1, 0x29, 0x02, 0x4E, 0x08, 0x8A, 0x67, 0xCC, 0x74,
        0x02, 0x0B, 0xBE, 0xA6, 0x3B, 0x13, 0x9B, 0x22, 0x51, 0x4A, 0x08, 0x79, 0x8E, 0x34, 0x04, 0xDD,
        0xEF, 0x95, 0x19, 0xB3, 0xCD, 0x3A, 0x43, 0x1B, 0x30, 0x2B, 0x0A, 0x6D, 0xF2, 0x5F, 0x14, 0x37,
        0x4F, 0xE1, 0x35, 0x6D, 0x6D, 0x51, 0xC2, 0x45, 0xE4, 0x85, 0xB5, 0x76, 0x62, 0x5E, 0x7E, 0xC6,
        0xF4, 0x4C, 0x42, 0xE9, 0xA6, 0x37, 0xED, 0x6B, 0x0B, 0xFF, 0x5C, 0xB6, 0xF4, 0x06, 0xB7, 0xED,
        0xEE, 0x38, 0x6B, 0xFB, 0x5A, 0x89, 0x9F, 0xA5, 0xAE, 0x9F, 0x24, 0x11, 0x7C, 0x4B, 0x1F, 0xE6,
        0x49, 0x28, 0x66, 0x51, 0xEC, 0xE6, 0x53, 0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    ]

    /// The prime with another last byte.
    private static func ending(_ byte: UInt8) -> [UInt8] { prime.dropLast() + [byte] }

    private func code(_ peer: [UInt8]) -> CofferError.Code? {
        do throws(CofferError) {
            _ = try SecretTransport.agree(with: peer.span)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("Two sides agree, and open what the other sealed")
    func agreement() throws {
        // 2 to the power of 3: the exponent of the other side is known.
        let peer: [UInt8] = [8]
        let own = try SecretTransport.agree(with: peer.span)
        #expect(own.publicValue.count == SecretTransport.valueSize)
        let three: [UInt8] = [3]
        let exponent = try SecretBytes.copying(three.span)
        let other = try SecretTransport.agree(with: own.publicValue.span, exponent: exponent)
        #expect(other.publicValue == [UInt8](repeating: 0, count: 127) + [8])
        for count in [0, 1, 15, 16, 17, 4096] {
            let secret = [UInt8](repeating: 7, count: count)
            let sealed = try own.transport.seal(secret.span)
            let opened = try other.transport.open(sealed.ciphertext.span, iv: sealed.iv.span)
            #expect(opened.exposing { span in (0..<span.count).map { span[$0] } } == secret)
        }
    }

    @Test("Values outside of the group's range are refused, those at its ends are not")
    func range() {
        for peer in [[], [0], [1], Self.prime, Self.ending(0xFE), [1] + [UInt8](repeating: 0, count: 128)] {
            #expect(code(peer) == .invalidInput, "\(peer.count) bytes")
        }
        for peer in [[2], Self.ending(0xFD), [UInt8](repeating: 0, count: 127) + [2]] {
            #expect(code(peer) == nil, "\(peer.count) bytes")
        }
    }

    private func code(_ transport: SecretTransport, _ ciphertext: [UInt8], iv: [UInt8]) -> CofferError.Code? {
        do throws(CofferError) {
            _ = try transport.open(ciphertext.span, iv: iv.span)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("Damaged ciphertexts are refused alike")
    func damage() throws {
        let peer: [UInt8] = [8]
        let transport = try SecretTransport.agree(with: peer.span).transport
        let iv = [UInt8](repeating: 0, count: 16)
        for count in [0, 15, 17] {
            let bytes = [UInt8](repeating: 1, count: count)
            #expect(code(transport, bytes, iv: iv) == .notAuthentic, "\(count) bytes")
        }
        let secret: [UInt8] = [1, 2, 3]
        let sealed = try transport.seal(secret.span)
        #expect(code(transport, sealed.ciphertext, iv: sealed.iv) == nil)
        #expect(code(transport, sealed.ciphertext, iv: Array(sealed.iv.dropLast())) == .invalidInput)
    }
}
