import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("Keys and secrets")
struct KeysTests {
    @Test("Keys are equal when their bytes are")
    func keysAreEqualByTheirBytes() throws {
        let one = try key(.counting(32))
        for other in [UInt8].counting(32).withEachBitFlipped + [[], .counting(31), .counting(33)] {
            let same = one.isEqual(to: try key(other))
            #expect(!same)
        }
        let same = one.isEqual(to: try key(.counting(32)))
        #expect(same)
    }

    @Test("Random keys are 32 bytes long and differ")
    func randomKeysDiffer() throws {
        let one = try SymmetricKey.random()
        let two = try SymmetricKey.random()
        let same = one.isEqual(to: two)
        #expect(!same)
        let size = one.count
        #expect(size == 32)
        #expect(failure { _ = try SymmetricKey.random(count: -1) } == .outOfMemory)
    }

    @Test("Secrets are equal when their UTF-8 bytes are")
    func secretsAreEqualByTheirBytes() throws {
        let one = try SecretBytes.copying("p\u{e4}ss")
        #expect(bytes(one) == [0x70, 0xc3, 0xa4, 0x73, 0x73])
        let same = one.isEqual(to: try SecretBytes.copying([0x70, 0xc3, 0xa4, 0x73, 0x73].span))
        let other = one.isEqual(to: try SecretBytes.copying("pass"))
        #expect(same)
        #expect(!other)
    }

    @Test("Numbers are written and read in big-endian order")
    func numbersAreBigEndian() {
        #expect(UInt8(0xab).bigEndianBytes == [0xab])
        #expect(UInt16(0x0102).bigEndianBytes == [1, 2])
        #expect(UInt32(0xffff_fffe).bigEndianBytes == [0xff, 0xff, 0xff, 0xfe])
        #expect(Int64(-2).bigEndianBytes == [UInt8](repeating: 0xff, count: 7) + [0xfe])
        let bytes: [UInt8] = [9, 0x80, 0, 0, 0, 0, 0, 0, 1]
        let wide = bytes.span.bigEndian(UInt64.self, at: 1)
        let signed = bytes.span.bigEndian(Int64.self, at: 1)
        let narrow = bytes.span.bigEndian(UInt16.self, at: 0)
        #expect(wide == 0x8000_0000_0000_0001)
        #expect(signed == Int64.min + 1)
        #expect(narrow == 0x0980)
    }

    @Test("An error's message contains no byte of the secret")
    func errorsTellNoSecret() throws {
        let secret = Array("hunter2-hunter2".utf8)
        do throws(CofferError) {
            _ = try AEAD.prepare(.aes256GCM, key: try SymmetricKey.copying(secret.span))
        } catch {
            #expect(!"\(error)".contains("hunter2"))
            #expect(!"\(error)".contains(secret.hex))
            #expect(error.description.hasPrefix("invalidInput: "))
        }
    }
}
