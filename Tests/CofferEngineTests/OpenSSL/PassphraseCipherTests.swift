import CofferBase
import CofferEngine
import Testing

@Suite("Ciphers and key derivation of key files")
struct PassphraseCipherTests {
    /// The results of OpenSSL's own derivation for the passphrase "smeg".
    private static let derivations:
        [(PKCS12Derivation.Purpose, DigestAlgorithm, rounds: Int, salt: String, expected: String)] = [
            (.key, .sha1, 1, "0a58cf64530d823f", "8aaae6297b6cb04642ab5b077851284eb7128f1a2a7fbca3"),
            (.initialization, .sha1, 1, "0a58cf64530d823f", "79993dfe048d3b76"),
            (.authentication, .sha1, 1000, "1682c0fc5b3f7ec5", "1ed9d0491905b60b090bbfcfac06520f84188168"),
            (
                .key, .sha256, 3, "0a58cf64530d823f",
                "469e0a6907c9598d58e9611a2b3dceb1c8ae27341536"
                    + "0bf8bf510e1ccecc8674e28f97d0dbc836d78502a75f6a8e624c"
            ),
            (
                .key, .sha512, 7, "0a58cf64530d823f0a58cf64530d823f0a",
                "0e38fa1e3481dddf0e58728b95f6e5ed7077fc93846549f72da5691802e3160bfd4f0c5fb4187ba85930af99"
                    + "891a10495b7d9e89fa918928c12bd2b6cea5793e7f85e13a573e"
            ),
        ]

    @Test("The derivation of PKCS #12 gives what OpenSSL's gives", arguments: 0..<5)
    func derivation(_ index: Int) throws {
        let (purpose, digest, rounds, salt, expected) = Self.derivations[index]
        let passphrase: [UInt8] = [0, 0x73, 0, 0x6D, 0, 0x65, 0, 0x67, 0, 0]
        let (salted, wanted) = (try bytes(salt), try bytes(expected))
        let found = try PKCS12Derivation.derive(
            passphrase.span, salt: salted.span, rounds: rounds, digest: digest, purpose, count: wanted.count)
        let result = found.span.copied()
        #expect(result == wanted)
        let shorter = try PKCS12Derivation.derive(
            passphrase.span.extracting(0..<8), salt: salted.span, rounds: rounds, digest: digest, purpose,
            count: wanted.count)
        let other = shorter.span.copied()
        #expect(other != wanted)
    }

    @Test(
        "Every cipher refuses sizes that are wrong, and a wrong padding",
        arguments: PassphraseCipher.allCases)
    func sizes(_ cipher: PassphraseCipher) throws {
        let (key, iv) = (
            [UInt8](repeating: 7, count: cipher.keySize), [UInt8](repeating: 0, count: cipher.blockSize)
        )
        for count in [0, 1, cipher.blockSize - 1, cipher.blockSize + 1] {
            let input = [UInt8](repeating: 0, count: count)
            #expect(code { _ = try cipher.decrypt(input.span, key: key.span, iv: iv.span) } == .notAuthentic)
        }
        let block = [UInt8](repeating: 0, count: 2 * cipher.blockSize)
        #expect(
            code { _ = try cipher.decrypt(block.span, key: key.span, iv: iv.span.extracting(1...)) } != nil)
        #expect(
            code { _ = try cipher.decrypt(block.span, key: key.span.extracting(1...), iv: iv.span) } != nil)
        #expect(code { _ = try cipher.decrypt(block.span, key: key.span, iv: iv.span) } == .notAuthentic)
    }

    private func code(_ body: () throws -> Void) -> CofferError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? CofferError)?.code
        }
    }

    private func bytes(_ hex: String) throws -> [UInt8] {
        let digits = Array(hex.utf8)
        let found = try Encoding.decodeHex(digits.span)
        return found.span.copied()
    }
}
