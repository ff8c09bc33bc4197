import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("AES-CBC with HMAC")
struct AuthenticatedCBCTests {
    private let plaintext = [UInt8].counting(20, from: 0x60)
    private let data = [UInt8].counting(5)

    private func make(from: UInt8 = 0, keySize: Int = 32) throws -> AuthenticatedCBC {
        try AuthenticatedCBC.prepare(key: try key(.counting(keySize, from: from)))
    }

    private func open(_ message: [UInt8], _ cbc: inout AuthenticatedCBC, data: [UInt8]) throws -> [UInt8] {
        let opened = try cbc.open(message.span, associatedData: data.span)
        return bytes(opened)
    }

    @Test(
        "The cipher opens what it sealed, with and without associated data",
        arguments: [0, 1, 15, 16, 17, 100])
    func opensWhatItSealed(count: Int) throws {
        var cbc = try make()
        for data in [[], data] {
            let message = try cbc.seal([UInt8].counting(count).span, associatedData: data.span)
            #expect(message.count == 16 + (count / 16 + 1) * 16 + 32)
            #expect(try open(message, &cbc, data: data) == .counting(count))
        }
    }

    /// The format, put together from its parts: IV ‖ AES-256-CBC ‖ HMAC over length ‖ data ‖ IV ‖ ciphertext.
    @Test("A message put together from the documented parts is the one that the cipher makes")
    func isWhatItsDocumentationSays() throws {
        let master = try key(.counting(32))
        let iv = [UInt8].counting(16, from: 0x30)
        var cbc = try make()
        let message = try cbc.seal(plaintext.span, choosingIV: iv.span, associatedData: data.span)
        let encryption = try HKDF.deriveKey(from: master, info: "coffer/cbc-hmac/enc/v1")
        let authentication = try HKDF.deriveKey(from: master, info: "coffer/cbc-hmac/mac/v1")
        let body = iv + (try CBC.seal(plaintext.span, iv: iv.span, key: encryption))
        let covered = [0, 0, 0, 0, 0, 0, 0, 5] + data + body
        #expect(message == body + (try HMAC.authenticate(covered.span, key: authentication)))
    }

    @Test("A key that is not 32 bytes long is refused", arguments: oddKeySizes + [16, 24])
    func refusesKeys(size: Int) {
        #expect(failure { _ = try make(keySize: size) } == .invalidInput)
    }

    @Test("An IV that is not 16 bytes long is refused", arguments: oddNonceSizes + [12])
    func refusesIVs(size: Int) throws {
        var cbc = try make()
        let iv = [UInt8].counting(size)
        let code = failure {
            _ = try cbc.seal(plaintext.span, choosingIV: iv.span, associatedData: Span())
        }
        #expect(code == .invalidInput)
    }

    @Test("A changed, cut or longer message, other data and another key are not authentic")
    func refusesEverythingElse() throws {
        var cbc = try make()
        var other = try make(from: 1)
        let message = try cbc.seal(plaintext.span, associatedData: data.span)
        for flipped in message.withEachBitFlipped {
            #expect(failure { _ = try open(flipped, &cbc, data: data) } == .notAuthentic)
        }
        for count in 0..<message.count {
            #expect(failure { _ = try open(Array(message.prefix(count)), &cbc, data: data) } == .notAuthentic)
        }
        #expect(failure { _ = try open(message + [0], &cbc, data: data) } == .notAuthentic)
        #expect(failure { _ = try open(message, &cbc, data: data + [0]) } == .notAuthentic)
        #expect(failure { _ = try open(message, &other, data: data) } == .notAuthentic)
        #expect(try open(message, &cbc, data: data) == plaintext)
    }

    /// Plays the padding oracle: for each byte of the block before the last one, every change. All answers
    /// but to the unchanged message must be one and the same error.
    @Test("A padding oracle learns nothing: every change has the same error")
    func tellsNothingOfThePadding() throws {
        var cbc = try make()
        var message = try cbc.seal(plaintext.span, associatedData: data.span)
        var answers: Set<String> = []
        var opened = 0
        for position in 16..<32 {
            for change in 0...255 {
                message[position] ^= UInt8(change)
                do throws(CofferError) {
                    _ = try cbc.open(message.span, associatedData: data.span)
                    opened += 1
                } catch {
                    answers.insert("\(error) \(String(describing: error.systemError))")
                }
                message[position] ^= UInt8(change)
            }
        }
        #expect(opened == 16)
        #expect(answers.count == 1)
    }

    @Test("Bare CBC, too, has one error for every wrong length and padding")
    func bareCBCHasOneErrorToo() throws {
        let right = try key(.counting(16))
        let iv = [UInt8].counting(16)
        let ciphertext = try CBC.seal(plaintext.span, iv: iv.span, key: right)
        var answers: Set<String> = []
        for count in Array(0...15) + [17, 31] {
            do throws(CofferError) {
                _ = try CBC.open(ciphertext.span.extracting(..<count), iv: iv.span, key: right)
            } catch { answers.insert("\(error)") }
        }
        for value in 0...255 {
            var changed = ciphertext
            changed[15] ^= UInt8(value)
            do throws(CofferError) { _ = try CBC.open(changed.span, iv: iv.span, key: right) } catch {
                answers.insert("\(error)")
            }
        }
        #expect(answers.count == 1)
        for size in oddKeySizes {
            let odd = try key(.counting(size))
            #expect(failure { _ = try CBC.seal(plaintext.span, iv: iv.span, key: odd) } == .invalidInput)
            #expect(failure { _ = try CBC.open(ciphertext.span, iv: iv.span, key: odd) } == .invalidInput)
        }
        for size in oddNonceSizes {
            let odd = [UInt8].counting(size)
            #expect(failure { _ = try CBC.seal(plaintext.span, iv: odd.span, key: right) } == .invalidInput)
            #expect(failure { _ = try CBC.open(ciphertext.span, iv: odd.span, key: right) } == .invalidInput)
        }
    }
}
