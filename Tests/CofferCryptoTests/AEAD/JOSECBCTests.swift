import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("A128CBC-HS256 and related schemes") struct JOSECBCTests {
    private let plaintext = [UInt8].counting(20, from: 0x60)
    private let data = [UInt8].counting(5)

    private struct Message {
        var iv: [UInt8]
        var ciphertext: [UInt8]
        var tag: [UInt8]
    }

    private func make(_ algorithm: JOSECBC.Algorithm, from: UInt8 = 0) throws -> JOSECBC {
        try JOSECBC.prepare(algorithm, key: try key(.counting(algorithm.keySize, from: from)))
    }

    private func seal(_ scheme: inout JOSECBC, _ plaintext: [UInt8], _ data: [UInt8]) throws -> Message {
        let sealed = try scheme.seal(plaintext.span, associatedData: data.span)
        return Message(iv: sealed.iv, ciphertext: sealed.ciphertext, tag: sealed.tag)
    }

    private func open(_ message: Message, _ scheme: inout JOSECBC, _ data: [UInt8]) throws -> [UInt8] {
        let opened = try scheme.open(
            message.ciphertext.span, tag: message.tag.span, iv: message.iv.span, associatedData: data.span)
        return bytes(opened)
    }

    @Test(
        "The scheme opens what it sealed, each time under another IV",
        arguments: JOSECBC.Algorithm.allCases, [0, 1, 15, 16, 17, 9000])
    func opensWhatItSealed(algorithm: JOSECBC.Algorithm, count: Int) throws {
        var scheme = try make(algorithm)
        for data in [[], data] {
            let message = try seal(&scheme, .counting(count), data)
            #expect(message.ciphertext.count == (count / 16 + 1) * 16)
            #expect(message.tag.count == algorithm.tagSize && message.iv.count == JOSECBC.ivSize)
            #expect(try open(message, &scheme, data) == .counting(count))
            #expect(try seal(&scheme, .counting(count), data).iv != message.iv)
        }
    }

    @Test(
        "A changed, cut or longer part, other data and another key are not authentic",
        arguments: JOSECBC.Algorithm.allCases)
    func refusesEverythingElse(algorithm: JOSECBC.Algorithm) throws {
        var scheme = try make(algorithm)
        var other = try make(algorithm, from: 1)
        let message = try seal(&scheme, plaintext, data)
        var wrong: [Message] = []
        for part in [\Message.iv, \.ciphertext, \.tag] {
            for bytes in message[keyPath: part].withEachBitFlipped {
                var changed = message
                changed[keyPath: part] = bytes
                wrong.append(changed)
            }
            for count in 0..<message[keyPath: part].count {
                var changed = message
                changed[keyPath: part] = Array(message[keyPath: part].prefix(count))
                wrong.append(changed)
            }
            var longer = message
            longer[keyPath: part].append(0)
            wrong.append(longer)
        }
        for message in wrong { #expect(failure { _ = try open(message, &scheme, data) } == .notAuthentic) }
        #expect(failure { _ = try open(message, &scheme, data + [0]) } == .notAuthentic)
        #expect(failure { _ = try open(message, &scheme, []) } == .notAuthentic)
        #expect(failure { _ = try open(message, &other, data) } == .notAuthentic)
        #expect(try open(message, &scheme, data) == plaintext)
    }

    @Test("Every refusal is word for word the same, whether tag, padding or size is wrong")
    func hasOneError() throws {
        let key = [UInt8].counting(32)
        var scheme = try make(.a128CBCHS256)
        let message = try seal(&scheme, plaintext, data)
        var answers: Set<String> = []
        func note(_ message: Message) {
            do { _ = try open(message, &scheme, data) } catch { answers.insert("\(error)") }
        }
        note(Message(iv: message.iv, ciphertext: message.ciphertext, tag: Array(message.tag.reversed())))
        note(Message(iv: [], ciphertext: message.ciphertext, tag: message.tag))
        // The right tag over ciphertexts that do not decrypt.
        for ciphertext in [[], [1, 2, 3], Array(message.ciphertext.dropLast(16)), .counting(32)] {
            let covered = data + message.iv + ciphertext + [0, 0, 0, 0, 0, 0, 0, 40]
            let mac = try HMAC.authenticate(covered.span, key: self.key(Array(key[..<16])))
            note(Message(iv: message.iv, ciphertext: ciphertext, tag: Array(mac.prefix(16))))
        }
        #expect(answers.count == 1 && answers.first?.contains("notAuthentic") == true, "\(answers)")
    }

    private func key(_ bytes: [UInt8]) throws -> SymmetricKey { try SymmetricKey.copying(bytes.span) }

    @Test(
        "Keys of another algorithm's size and IVs of other than 16 bytes are refused",
        arguments: JOSECBC.Algorithm.allCases)
    func refusesSizes(algorithm: JOSECBC.Algorithm) throws {
        for size in [0, 16, 24, 31, 32, 33, 47, 48, 49, 63, 64, 65, 128] {
            let code = failure { _ = try JOSECBC.prepare(algorithm, key: try key(.counting(size))) }
            #expect(code == (size == algorithm.keySize ? nil : .invalidInput))
        }
        var scheme = try make(algorithm)
        for size in oddNonceSizes + [12] {
            let iv = [UInt8].counting(size)
            let code = failure {
                _ = try scheme.seal(plaintext.span, choosingIV: iv.span, associatedData: Span())
            }
            #expect(code == .invalidInput)
        }
    }
}
