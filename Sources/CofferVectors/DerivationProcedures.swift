import CofferBase
import CofferCrypto
import CofferEngine

/// The tests for algorithms whose result is compared with the file's: key derivation and MACs.
extension VectorTest {
    static func pbkdf2(_ digest: Digest) -> VectorTest {
        VectorTest(
            ["PbkdfTest"], fields: ["password", "salt", "iterationCount", "dkLen", "dk"], control: "dk"
        ) { (test, options) throws(MalformedVector) in
            let (password, salt) = (try test.bytes("password"), try test.bytes("salt"))
            let (rounds, count) = (try test.integer("iterationCount"), try test.integer("dkLen"))
            let expected = try test.bytes("dk")
            if options.skips(test, rounds: rounds) { return .slow }
            try throwIfCostly(count, holding: expected.count)
            let isDefined = rounds >= 1 && count >= 1
            return derived(expected, isDefined) { () throws(CofferError) in
                try PBKDF2.derive(
                    secret: password.span, salt: salt.span, rounds: rounds, digest: digest, count: count)
            }
        }
    }

    static func hkdf(_ digest: Digest) -> VectorTest {
        VectorTest(
            ["HkdfTest"], fields: ["ikm", "salt", "info", "size", "okm"], control: "okm"
        ) { (test, _) throws(MalformedVector) in
            let (secret, salt) = (try test.bytes("ikm"), try test.bytes("salt"))
            let (info, count) = (try test.bytes("info"), try test.integer("size"))
            let isDefined = 1...255 * digest.size ~= count
            return derived(try test.bytes("okm"), isDefined) { () throws(CofferError) in
                let key = try SymmetricKey.copying(secret.span)
                return try HKDF.derive(
                    from: key, salt: salt.span, info: info.span, digest: digest, count: count)
            }
        }
    }

    static let documentedKey = VectorTest(
        ["DocumentedKeyTest"], fields: ["uuid", "passcode", "label", "passcodeHash", "key"], control: "key"
    ) { (test, _) throws(MalformedVector) in
        let (uuid, label) = (try test.text("uuid"), try test.text("label"))
        let (passcode, hash) = (try test.text("passcode"), try test.text("passcodeHash"))
        let expected = try test.bytes("key")
        do throws(CofferError) {
            let secret = passcode.isEmpty ? nil : try SecretBytes.copying(passcode)
            switch secret {
            case .none:
                guard hash.isEmpty else { return .unequal }
            case .some(let secret):
                let computed = try Insecure.DocumentedKey.passcodeHash(of: secret)
                guard equal(computed, Array(hash.utf8)) else { return .unequal }
            }
            let key = try Insecure.DocumentedKey.key(uuid: uuid, label: label, passcode: secret)
            return try key.withSpan { $0.copied() } == expected ? .agrees : .unequal
        } catch {
            return error.code == .invalidInput
                ? .refused(error.code) : .wrong("deriving the key fails with \(error.code.name)")
        }
    }

    static let documentedPassphrase = VectorTest(
        ["DocumentedPassphraseTest"], fields: ["uuid", "passcode", "passphrase"], control: "passphrase"
    ) { (test, _) throws(MalformedVector) in
        let (uuid, passcode) = (try test.text("uuid"), try test.text("passcode"))
        let expected = try test.bytes("passphrase")
        return derived(expected, !uuid.isEmpty) { () throws(CofferError) in
            try Insecure.DocumentedKey.databasePassphrase(
                uuid: SecretBytes.copying(uuid), passcode: SecretBytes.copying(passcode))
        }
    }

    static func mac(_ digest: Digest) -> VectorTest {
        VectorTest(["MacTest"], fields: ["key", "msg", "tag"], control: "tag") {
            (test, _) throws(MalformedVector) in
            let (key, message) = (try test.bytes("key"), try test.bytes("msg"))
            let tag = try test.bytes("tag")
            let bits = test.group["tagSize"]?.int ?? digest.size * 8
            guard bits % 8 == 0, shortestTag...digest.size * 8 ~= bits else {
                return .unsupported("unsupported-tag-size:\(bits)")
            }
            do throws(CofferError) {
                let key = try SymmetricKey.copying(key.span)
                let full = try HMAC.authenticate(message.span, key: key, digest: digest)
                let accepted =
                    bits == digest.size * 8
                    ? try HMAC.isValid(tag.span, for: message.span, key: key, digest: digest)
                    : ConstantTime.equal(full.span.extracting(..<(bits / 8)), tag.span)
                guard accepted else { return .refused(.notAuthentic) }
                return full.starts(with: tag) ? .agrees : .wrong("the computed tag differs")
            } catch {
                return .wrong("it fails with \(error.code.name)")
            }
        }
    }

    /// The size in bits of the shortest useful tag (RFC 2104 section 5).
    private static let shortestTag = 80

    /// Derives a value and compares it with the expected one. The library must refuse to derive a value that
    /// the standard does not define.
    private static func derived(
        _ expected: [UInt8], _ isDefined: Bool, _ derive: () throws(CofferError) -> SecretBytes
    ) -> VectorResult {
        do throws(CofferError) {
            let result = try derive()
            guard isDefined else { return .wrong("it derives a value that is not defined") }
            return equal(result, expected) ? .agrees : .unequal
        } catch {
            return error.code == .invalidInput
                ? .refused(error.code) : .wrong("it fails with \(error.code.name)")
        }
    }

    /// Throws if a test requests 1 MiB or more but does not contain as many bytes, so a file cannot make the
    /// library derive gigabytes.
    private static func throwIfCostly(_ count: Int, holding held: Int) throws(MalformedVector) {
        if count != held, (1 << 20)...Int(Int32.max) ~= count {
            throw MalformedVector("it requests \(count) bytes but contains \(held)")
        }
    }
}
