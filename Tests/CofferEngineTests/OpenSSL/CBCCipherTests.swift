import CofferBase
import CofferEngine
import Testing
import TestSupport

@Suite("OpenSSL: AES-CBC")
struct CBCCipherTests {
    private let key = [UInt8](hex: "2b7e151628aed2a6abf7158809cf4f3c")
    private let iv = [UInt8].counting(16)

    private func run(
        _ input: [UInt8], encrypting: Bool, key: [UInt8]? = nil, iv: [UInt8]? = nil, room: Int? = nil,
        largestPiece: Int = CBCCipher.defaultPiece
    ) throws -> (code: CofferError.Code?, output: [UInt8]) {
        let (key, iv) = (key ?? self.key, iv ?? self.iv)
        var cipher = try CBCCipher.make(
            key: key.span, encrypting: encrypting, largestPiece: largestPiece)
        let needed = encrypting ? CBCCipher.ciphertextSize(input.count) : input.count
        var output = [UInt8](repeating: 0xaa, count: room ?? needed)
        var count = output.count
        let code = failure {
            var span = output.mutableSpan
            count = try cipher.transform(input.span, iv: iv.span, into: &span)
        }
        return (code, Array(output.prefix(count)))
    }

    @Test("Encryption reproduces the first block of NIST SP 800-38A, F.2.1")
    func knownValue() throws {
        let result = try run([UInt8](hex: "6bc1bee22e409f96e93d7e117393172a"), encrypting: true)
        #expect(Array(result.output.prefix(16)).hex == "7649abac8119b246cee98e9b12e9197d")
        #expect(result.output.count == 32)
    }

    @Test(
        "The cipher decrypts what it encrypted and adds whole blocks of padding",
        arguments: [16, 24, 32], [0, 1, 15, 16, 17, 31, 32, 100])
    func decryptsWhatItEncrypted(keySize: Int, count: Int) throws {
        let (key, plaintext) = ([UInt8].counting(keySize), [UInt8].counting(count))
        let ciphertext = try run(plaintext, encrypting: true, key: key)
        #expect(ciphertext.output.count == (count / 16 + 1) * 16)
        let opened = try run(ciphertext.output, encrypting: false, key: key)
        #expect(opened.code == nil)
        #expect(opened.output == plaintext)
    }

    @Test("The cipher refuses a key that is not 16, 24 or 32 bytes long", arguments: oddKeySizes)
    func refusesKeysOfAnotherSize(size: Int) {
        #expect(failure { _ = try run([1], encrypting: true, key: .counting(size)) } == .invalidInput)
    }

    @Test("The cipher refuses an IV that is not 16 bytes long", arguments: oddNonceSizes + [12])
    func refusesIVsOfAnotherSize(size: Int) throws {
        #expect(try run([1], encrypting: true, iv: .counting(size)).code == .invalidInput)
        #expect(try run(.counting(16), encrypting: false, iv: .counting(size)).code == .invalidInput)
    }

    @Test(
        "A ciphertext that is not whole blocks is refused and writes no output",
        arguments: Array(0...15) + [17, 31, 33])
    func refusesCiphertextThatIsNotWholeBlocks(count: Int) throws {
        let result = try run(.counting(count), encrypting: false)
        #expect(result.code == .notAuthentic)
        #expect(result.output.allSatisfy { $0 == 0 })
    }

    @Test("Only sound padding is accepted, and a refusal leaves nothing behind", arguments: 0...255)
    func refusesBadPadding(last: Int) throws {
        // Encrypting 15 bytes and their padding 01 gives a block whose last byte the IV can change at will.
        let ciphertext = try run(.counting(15, from: 0x20), encrypting: true).output
        var iv = iv
        iv[15] ^= 1 ^ UInt8(last)
        let result = try run(ciphertext, encrypting: false, iv: iv)
        if last == 1 {
            #expect(result.output == .counting(15, from: 0x20))
        } else {
            #expect(result.code == .notAuthentic)
            #expect(result.output == [UInt8](repeating: 0, count: 16))
        }
    }

    @Test("The cipher refuses an output buffer that is too small")
    func needsRoom() throws {
        #expect(try run(.counting(16), encrypting: true, room: 31).code == .invalidInput)
        #expect(try run(.counting(16), encrypting: false, room: 15).code == .invalidInput)
    }

    @Test("A message processed in pieces is the same as one processed whole", arguments: [1, 5, 16, 33])
    func piecesMakeNoDifference(largestPiece: Int) throws {
        let plaintext = [UInt8].counting(100)
        let whole = try run(plaintext, encrypting: true).output
        #expect(try run(plaintext, encrypting: true, largestPiece: largestPiece).output == whole)
        #expect(try run(whole, encrypting: false, largestPiece: largestPiece).output == plaintext)
    }

    @Test("One prepared cipher starts each message at its own IV, also after a refusal")
    func startsAnewWithEachMessage() throws {
        let ciphertext = try run([1, 2, 3], encrypting: true).output
        var cipher = try CBCCipher.make(key: key.span, encrypting: false)
        for _ in 0..<3 {
            var output = [UInt8](repeating: 0, count: 32)
            let junk = [UInt8].counting(32)
            let code = failure {
                var span = output.mutableSpan
                _ = try cipher.transform(junk.span, iv: iv.span, into: &span)
            }
            #expect(code == .notAuthentic)
            var span = output.mutableSpan
            #expect(try cipher.transform(ciphertext.span, iv: iv.span, into: &span) == 3)
            #expect(output.prefix(3) == [1, 2, 3])
        }
    }
}
