import CofferBase
import CofferCrypto
import CofferEngine

/// Uses of a poisoned secret. Which reports each gives stands in expected.json; a new one is a finding.
enum PoisonCases {
    typealias Case = @Sendable () throws -> Void

    static let all: [String: Case] = controls.merging(primitives) { first, _ in first }
        .merging(opening) { first, _ in first }

    /// Uses of a secret that must be reported: otherwise the search is blind.
    private static let controls: [String: Case] = [
        "control-equal": {
            if Poison.array() == [UInt8](repeating: 8, count: 32) { throw ProbeFailure("equal") }
        },
        "control-table": {
            let table = [UInt8](repeating: 1, count: 256)
            let sum = Poison.array().reduce(0) { $0 &+ Int(table[Int($1)]) }
            _ = Poison.publish(sum == 0)
        },
    ]

    private static let public32 = [UInt8](repeating: 3, count: 32)

    private static let primitives: [String: Case] = [
        "constant-time-equal": {
            let secret = try Poison.secret()
            let isEqual = secret.exposing { ConstantTime.equal($0, public32.span) }
            if Poison.publish(isEqual) { throw ProbeFailure("equal") }
        },
        "aes-gcm-seal": { try seal(.aes256GCM) },
        "chacha20-poly1305-seal": { try seal(.chaCha20Poly1305) },
        "xchacha20-poly1305-seal": { try seal(.xChaCha20Poly1305) },
        "cbc-seal": {
            let key = try Poison.key()
            let plaintext = try Poison.secret(100)
            try plaintext.exposing { (bytes) throws(CofferError) in
                _ = try CBC.seal(bytes, iv: public32.span.extracting(..<16), key: key)
            }
        },
        "cbc-hmac-seal": {
            let plaintext = try Poison.secret(100)
            var scheme = try AuthenticatedCBC.prepare(key: Poison.key())
            try plaintext.exposing { (bytes) throws(CofferError) in _ = try scheme.seal(bytes) }
        },
        "jose-cbc-seal": {
            let plaintext = try Poison.secret(100)
            var scheme = try JOSECBC.prepare(.a128CBCHS256, key: Poison.key())
            try plaintext.exposing { (bytes) throws(CofferError) in _ = try scheme.seal(bytes) }
        },
        "siv-seal": {
            let plaintext = try Poison.secret(100)
            var scheme = try SIV.prepare(key: Poison.key())
            try plaintext.exposing { (bytes) throws(CofferError) in
                _ = try scheme.seal(bytes, associatedData: [public32, []])
            }
        },
        "cmac": { _ = try CMAC.authenticate(public32.span, key: Poison.key()) },
        "gmac": {
            _ = try GMAC.authenticate(
                public32.span, nonce: public32.span.extracting(..<12), key: Poison.key())
        },
        "pbkdf2-sha256": { try derive(.sha256, 32) },
        "pbkdf2-sha256-64": { try derive(.sha256, 64) },
        "pbkdf2-sha512": { try derive(.sha512, 64) },
        "pbkdf2-sha1": { try derive(.sha1, 20) },
        "hmac-sha256": { _ = try HMAC.authenticate(public32.span, key: Poison.key()) },
        "hkdf-sha256": { _ = try HKDF.derive(from: Poison.key(), info: public32.span, count: 64) },
        "documented-key": {
            let uuid = "0F8FAD5B-D9CB-469F-A165-70867728950E"
            _ = try Insecure.DocumentedKey.key(uuid: uuid, passcode: Poison.secret(8))
        },
        "hexadecimal": {
            let secret = try Poison.secret()
            try secret.exposing { (bytes) throws(CofferError) in _ = try Encoding.hex(bytes) }
        },
        "key-wrap": { _ = try KeyWrap.wrap(Poison.key(), under: Poison.key()) },
        "ed25519-sign": { _ = try Ed25519.sign(public32.span, seed: Poison.key()) },
    ]

    private static let opening: [String: Case] = [
        "aes-gcm-open": { try open(.aes256GCM) },
        "xchacha20-poly1305-open": { try open(.xChaCha20Poly1305) },
        "cbc-open": {
            let key = try Poison.key()
            let plaintext = try Poison.secret(100)
            let iv = public32.span.extracting(..<16)
            let message = try plaintext.exposing { (bytes) throws(CofferError) in
                try CBC.seal(bytes, iv: iv, key: key)
            }
            let sent = Poison.publish(message)
            _ = try CBC.open(sent.span, iv: iv, key: key)
        },
        "cbc-hmac-open": { try openAuthenticatedCBC(turned: false) },
        "cbc-hmac-refused": { try openAuthenticatedCBC(turned: true) },
        "jose-cbc-refused": {
            let plaintext = try Poison.secret(100)
            var scheme = try JOSECBC.prepare(.a128CBCHS256, key: Poison.key())
            var sealed = try plaintext.exposing { (bytes) throws(CofferError) in try scheme.seal(bytes) }
            sealed.ciphertext[30] ^= 1
            let (sent, tag) = (Poison.publish(sealed.ciphertext), Poison.publish(sealed.tag))
            try refused { () throws(CofferError) in
                _ = try scheme.open(sent.span, tag: tag.span, iv: sealed.iv.span)
            }
        },
        "siv-refused": {
            let plaintext = try Poison.secret(100)
            var scheme = try SIV.prepare(key: Poison.key())
            var sent = Poison.publish(
                try plaintext.exposing { (bytes) throws(CofferError) in try scheme.seal(bytes) })
            sent[30] ^= 1
            try refused { () throws(CofferError) in _ = try scheme.open(sent.span) }
        },
        "cmac-refused": {
            let key = try Poison.key()
            if Poison.publish(try CMAC.isValid(public32.span.extracting(..<16), for: public32.span, key: key))
            {
                throw ProbeFailure("valid")
            }
        },
        "key-unwrap": {
            let kek = try Poison.key()
            let wrapped = Poison.publish(try KeyWrap.wrap(Poison.key(), under: kek))
            _ = try KeyWrap.unwrap(wrapped.span, under: kek)
        },
    ]

    private static func seal(_ algorithm: AEAD.Algorithm) throws {
        let plaintext = try Poison.secret(100)
        var aead = try AEAD.prepare(algorithm, key: Poison.key())
        try plaintext.exposing { (bytes) throws(CofferError) in _ = try aead.seal(bytes) }
    }

    private static func open(_ algorithm: AEAD.Algorithm) throws {
        let plaintext = try Poison.secret(100)
        var aead = try AEAD.prepare(algorithm, key: Poison.key())
        let message = try plaintext.exposing { (bytes) throws(CofferError) in try aead.seal(bytes) }
        let sent = Poison.publish(message)
        _ = try aead.open(sent.span)
    }

    private static func openAuthenticatedCBC(turned: Bool) throws {
        let plaintext = try Poison.secret(100)
        var scheme = try AuthenticatedCBC.prepare(key: Poison.key())
        let message = try plaintext.exposing { (bytes) throws(CofferError) in try scheme.seal(bytes) }
        var sent = Poison.publish(message)
        if turned { sent[30] ^= 1 }
        do throws(CofferError) {
            _ = try scheme.open(sent.span)
        } catch {
            if turned, error.code == .notAuthentic { return }
            throw error
        }
        if turned { throw ProbeFailure("opened") }
    }

    private static func refused(_ open: () throws(CofferError) -> Void) throws {
        do throws(CofferError) {
            try open()
        } catch {
            guard error.code == .notAuthentic else { throw error }
            return
        }
        throw ProbeFailure("opened")
    }

    private static func derive(_ digest: Digest, _ count: Int) throws {
        let secret = try Poison.secret(20)
        try secret.exposing { (bytes) throws(CofferError) in
            _ = try PBKDF2.derive(
                secret: bytes, salt: public32.span, rounds: 20, digest: digest, count: count)
        }
    }
}
