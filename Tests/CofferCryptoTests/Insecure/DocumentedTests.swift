import CofferBase
import CofferCrypto
import Testing
import TestSupport

@Suite("Documented schemes")
struct DocumentedTests {
    private let uuid = "6BA7B810-9DAD-41D1-80B4-00C04FD430C8"

    private func isKey(_ expected: String, label: String, passcode: String?) throws -> Bool {
        let expected = try key([UInt8](hex: expected))
        let secret: SecretBytes? = if let passcode { try SecretBytes.copying(passcode) } else { nil }
        let derived = try Insecure.DocumentedKey.key(uuid: uuid, label: label, passcode: secret)
        return derived.isEqual(to: expected)
    }

    @Test("The documented key is the one that Python's hashlib and base64 compute")
    func knownKeys() throws {
        #expect(
            try isKey(
                "7fc9380599102940792c1e547d23bd0709ac1f69403f313d70baa7104e598a05", label: "",
                passcode: nil))
        #expect(
            try isKey(
                "fb914a3adf0111c9077229c83e8af1b33278012c833523bf876b7dc612f65030", label: "",
                passcode: "1234"))
        #expect(
            try isKey(
                "8ae4b1fdfce2218a1b7089082dc81a4ea0f7590f7e546742054cbcfdd2c5a765", label: "mail",
                passcode: "1234"))
        #expect(
            try isKey(
                "fc9aca86876a96fea9e5b222d65d1e1c4948c4ad465e4c83518c77f18c876c49", label: "",
                passcode: "pä€ss"))
    }

    @Test("The documented passcode hash is the known one")
    func knownPasscodeHash() throws {
        let hash = try Insecure.DocumentedKey.passcodeHash(of: try SecretBytes.copying("1234"))
        #expect(
            String(decoding: bytes(hash), as: UTF8.self) == "A6xnQhbz4Vx2HuGl4lXwZ5U2I8iziLRFnhP5eNfIRvQ=")
    }

    /// The bytes count, not what they look like: the composed and the decomposed letter are two passcodes.
    @Test("Composed and decomposed letters, and upper and lower case, make different keys")
    func nothingIsNormalised() throws {
        let composed = try Insecure.DocumentedKey.key(uuid: uuid, passcode: try SecretBytes.copying("\u{e4}"))
        let decomposed = try Insecure.DocumentedKey.key(
            uuid: uuid, passcode: try SecretBytes.copying("a\u{308}"))
        let same = composed.isEqual(to: decomposed)
        #expect(!same)
        let lower = try Insecure.DocumentedKey.key(uuid: uuid.lowercased(), passcode: nil)
        let upper = try Insecure.DocumentedKey.key(uuid: uuid, passcode: nil)
        let isSame = lower.isEqual(to: upper)
        #expect(!isSame)
    }

    @Test("An empty passcode differs from none, and an empty UUID is refused")
    func anEmptyPasscodeIsNotNone() throws {
        let empty = try Insecure.DocumentedKey.key(uuid: uuid, passcode: try SecretBytes.copying(""))
        let none = try Insecure.DocumentedKey.key(uuid: uuid, passcode: nil)
        let same = empty.isEqual(to: none)
        #expect(!same)
        #expect(failure { _ = try Insecure.DocumentedKey.key(uuid: "", passcode: nil) } == .invalidInput)
    }

    @Test(
        "A message decrypts to what was encrypted, and is AES-CBC behind its IV",
        arguments: [16, 32], [0, 1, 15, 16, 33])
    func encryptionComesBack(keySize: Int, count: Int) throws {
        let right = try key(.counting(keySize))
        let message = try Insecure.DocumentedCBC.encrypt([UInt8].counting(count).span, key: right)
        #expect(message.count == 16 + (count / 16 + 1) * 16)
        let opened = try Insecure.DocumentedCBC.decrypt(message.span, key: right)
        #expect(bytes(opened) == .counting(count))
        let bare = try CBC.open(
            message.span.extracting(16...), iv: message.span.extracting(..<16), key: right)
        #expect(bytes(bare) == .counting(count))
    }

    @Test("A key that is not 16 or 32 bytes long is refused", arguments: oddKeySizes + [24])
    func refusesKeys(size: Int) throws {
        let odd = try key(.counting(size))
        #expect(failure { _ = try Insecure.DocumentedCBC.encrypt([1].span, key: odd) } == .invalidInput)
        #expect(
            failure { _ = try Insecure.DocumentedCBC.decrypt([UInt8].counting(32).span, key: odd) }
                == .invalidInput)
    }

    @Test("A message of an impossible size is not authentic", arguments: Array(0...31) + [33, 47])
    func refusesMessagesOfImpossibleSizes(count: Int) throws {
        let right = try key(.counting(32))
        let message = [UInt8].counting(count)
        #expect(failure { _ = try Insecure.DocumentedCBC.decrypt(message.span, key: right) } == .notAuthentic)
    }

    @Test("The PBKDF2 scheme joins identifier and random text and derives the known key")
    func pbkdf2Scheme() throws {
        let secret = try Insecure.PBKDF2CBC.deviceSecret(deviceID: "device-1", randomString: "random")
        #expect(bytes(secret) == Array("device-1random".utf8))
        let parameters = try Insecure.PBKDF2CBC.Parameters(
            digest: .sha256, salt: .counting(16), rounds: 1000, keySize: 32)
        let derived = try Insecure.PBKDF2CBC.key(secret: secret, parameters)
        let expected = try key(
            [UInt8](hex: "dad274f86a43dbd16fee2ed4ec419b48dcace25911f6cf1e9c09d97fd9554212"))
        let isRight = derived.isEqual(to: expected)
        #expect(isRight)
    }

    @Test("Other digests, rounds below one and other key sizes are refused")
    func refusesParameters() {
        func code(_ digest: Digest = .sha256, rounds: Int = 1, keySize: Int = 32) -> CofferError.Code? {
            failure {
                _ = try Insecure.PBKDF2CBC.Parameters(
                    digest: digest, salt: [], rounds: rounds, keySize: keySize)
            }
        }
        #expect(code() == nil)
        for digest in [Digest.sha224, .sha384] { #expect(code(digest) == .invalidInput) }
        for rounds in [0, -1, Int.min] { #expect(code(rounds: rounds) == .invalidInput) }
        for size in oddKeySizes + [24] { #expect(code(keySize: size) == .invalidInput) }
    }
}
