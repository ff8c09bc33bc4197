import CofferBase
import CofferCrypto
import CofferEngine

/// The tests for AES-CBC alone and for unauthenticated formats based on it.
extension VectorTest {
    static let blockCipher = VectorTest(
        ["IndCpaTest"], fields: ["key", "iv", "msg", "ct"], control: "ct"
    ) { (test, _) throws(MalformedVector) in
        let key = try test.bytes("key")
        let (iv, plaintext, ciphertext) = (try test.bytes("iv"), try test.bytes("msg"), try test.bytes("ct"))
        if ![16, 24, 32].contains(key.count) || iv.count != 16 {
            let reason =
                iv.count != 16
                ? "unsupported-iv-size:\(iv.count * 8)" : "unsupported-key-size:\(key.count * 8)"
            return unsupported(
                reason,
                refusal { () throws(CofferError) in
                    _ = try CBC.open(ciphertext.span, iv: iv.span, key: try SymmetricKey.copying(key.span))
                },
                refusal { () throws(CofferError) in
                    _ = try CBC.seal(plaintext.span, iv: iv.span, key: try SymmetricKey.copying(key.span))
                })
        }
        return roundTrip(key: key, iv: iv, plaintext: plaintext, ciphertext: ciphertext)
    }

    static let documentedCBC = VectorTest(
        ["IndCpaTest", "DocumentedCbcTest"], fields: ["key", "message", "msg"], control: "message"
    ) { (test, _) throws(MalformedVector) in
        let key = try test.bytes("key")
        return documented(key: key, message: try test.bytes("message"), plaintext: try test.bytes("msg"))
    }

    static let pbkdf2CBC = VectorTest(
        ["PbeTest", "Pbkdf2CbcTest"],
        fields: ["prf", "password", "salt", "iterationCount", "keySize", "message", "msg"],
        control: "message"
    ) { (test, options) throws(MalformedVector) in
        let (password, salt) = (try test.bytes("password"), try test.bytes("salt"))
        let (rounds, bits) = (try test.integer("iterationCount"), try test.integer("keySize"))
        let (message, plaintext) = (try test.bytes("message"), try test.bytes("msg"))
        guard let digest = Digest.named(try test.text("prf")) else {
            return .unsupported("unsupported-prf")
        }
        if options.skips(test, rounds: rounds) { return .slow }
        guard bits % 8 == 0 else { return .unsupported("unsupported-key-size:\(bits)") }
        do throws(CofferError) {
            let parameters = try Insecure.PBKDF2CBC.Parameters(
                digest: digest, salt: salt, rounds: rounds, keySize: bits / 8)
            let key = try Insecure.PBKDF2CBC.key(secret: try SecretBytes.copying(password.span), parameters)
            return documented(key: try key.withSpan { $0.copied() }, message: message, plaintext: plaintext)
        } catch {
            return error.code == .invalidInput
                ? .refused(error.code) : .wrong("deriving the key fails with \(error.code.name)")
        }
    }

    /// Returns the procedure for PBKDF2 followed by AES-CBC, the PBES2 encryption scheme of RFC 8018.
    static func passwordBased(_ digest: Digest, keySize: Int) -> VectorTest {
        VectorTest(
            ["PbeTest"], fields: ["password", "salt", "iterationCount", "iv", "msg", "ct"], control: "ct"
        ) { (test, options) throws(MalformedVector) in
            let (password, salt) = (try test.bytes("password"), try test.bytes("salt"))
            let rounds = try test.integer("iterationCount")
            let (iv, plaintext) = (try test.bytes("iv"), try test.bytes("msg"))
            let ciphertext = try test.bytes("ct")
            if options.skips(test, rounds: rounds) { return .slow }
            do throws(CofferError) {
                let key = try PBKDF2.derive(
                    secret: password.span, salt: salt.span, rounds: rounds, digest: digest, count: keySize)
                let bytes = key.exposing { span in span.copied() }
                guard iv.count == 16 else {
                    return unsupported(
                        "unsupported-iv-size:\(iv.count * 8)",
                        refusal { () throws(CofferError) in
                            _ = try CBC.open(
                                ciphertext.span, iv: iv.span, key: try SymmetricKey.copying(bytes.span))
                        })
                }
                return roundTrip(key: bytes, iv: iv, plaintext: plaintext, ciphertext: ciphertext)
            } catch {
                return error.code == .invalidInput
                    ? .refused(error.code) : .wrong("deriving the key fails with \(error.code.name)")
            }
        }
    }

    /// Tests a message in the documented format, the IV followed by the ciphertext, with a 16-byte or 32-byte
    /// key.
    private static func documented(key: [UInt8], message: [UInt8], plaintext: [UInt8]) -> VectorResult {
        guard key.count == 16 || key.count == 32 else {
            return unsupported(
                "unsupported-key-size:\(key.count * 8)",
                refusal { () throws(CofferError) in
                    _ = try Insecure.DocumentedCBC.decrypt(
                        message.span, key: try SymmetricKey.copying(key.span))
                },
                refusal { () throws(CofferError) in
                    _ = try Insecure.DocumentedCBC.encrypt(
                        plaintext.span, key: try SymmetricKey.copying(key.span))
                })
        }
        do throws(CofferError) {
            let opened = try Insecure.DocumentedCBC.decrypt(
                message.span, key: try SymmetricKey.copying(key.span))
            guard equal(opened, plaintext) else { return .wrong("it opens to a different plaintext") }
        } catch {
            return notDecrypted(error)
        }
        return roundTrip(
            key: key, iv: Array(message.prefix(16)), plaintext: plaintext,
            ciphertext: Array(message.dropFirst(16)))
    }

    private static func roundTrip(
        key: [UInt8], iv: [UInt8], plaintext: [UInt8], ciphertext: [UInt8]
    ) -> VectorResult {
        do throws(CofferError) {
            let key = try SymmetricKey.copying(key.span)
            let opened = try CBC.open(ciphertext.span, iv: iv.span, key: key)
            guard equal(opened, plaintext) else { return .wrong("it opens to a different plaintext") }
            let sealed = try CBC.seal(plaintext.span, iv: iv.span, key: key)
            return sealed == ciphertext ? .agrees : .wrong("sealing produces different bytes")
        } catch {
            return notDecrypted(error)
        }
    }
}
