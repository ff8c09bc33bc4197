import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("JSON Web Tokens: claims, proofs and assertions")
struct JSONWebTokenTests {
    private static let now: Int64 = 1_700_000_000
    private static let good: [String: JSONValue] = [
        "iss": "https://login.example.org", "sub": "ada", "aud": "client", "iat": .integer(now),
        "exp": .integer(now + 300), "nonce": "n-1",
    ]

    private func token(
        _ changes: [String: JSONValue?] = [:], _ algorithm: JSONWebToken.Algorithm = .es256
    ) throws -> JSONWebToken {
        var claims = Self.good
        for (name, value) in changes { claims[name] = value }
        let key = try SigningKeys.key(algorithm)
        let text = try JSONWebToken.signing(.object(claims), with: key)
        return try JSONWebToken(verifying: text, keys: JSONWebKeySet([key.publicKey]))
    }

    private var rules: JSONWebToken.ClaimRules {
        JSONWebToken.ClaimRules(issuer: "https://login.example.org", audience: "client", now: Self.now)
    }

    private static let wrongClaims: [(String, JSONValue?)] = [
        ("iss", nil), ("iss", "https://login.example.org/"), ("iss", 1), ("aud", nil), ("aud", "other"),
        ("aud", []), ("aud", ["client", "other"]), ("aud", ["client", 1]), ("azp", "other"), ("azp", 1),
        ("sub", nil), ("sub", ""), ("exp", nil), ("exp", .integer(now - 60)), ("exp", "1800000000"),
        ("exp", .bigInteger("99999999999999999999")), ("iat", nil), ("iat", .integer(now + 61)),
        ("iat", -1), ("nbf", .integer(now + 61)), ("nbf", "0"),
    ]

    @Test("A claim that is missing or wrong is refused by its name", arguments: wrongClaims)
    func refusesClaims(_ name: String, _ value: JSONValue?) throws {
        let token = try token([name: value])
        do throws(CofferError) {
            try token.check(rules)
            Issue.record("It is accepted.")
        } catch {
            #expect(error.code == .refused)
            #expect(error.message.contains("claim \(name) "), "\(error.message)")
        }
    }

    @Test(
        "A signed token is in guarded memory only, and nowhere once it is released",
        .enabled(if: OwnMemory.isReadable, "/proc/self/mem cannot be read here"))
    func residue() async {
        await #expect(processExitsWith: .success) {
            var needle: [UInt8] = []
            func sign() throws(CofferError) {
                let key = try JSONWebSigningKey.generate()
                let token = try ClientAssertion.signed(
                    clientID: "desktop", audience: "https://login.example.org", issued: 1, with: key)
                // The complement of half the signature's text, which nothing else has.
                needle = token.exposing { bytes in
                    (bytes.count - 48..<bytes.count - 8).map { ~bytes[$0] }
                }
            }
            try sign()
            #expect(needle.count == 40)
            #expect(try OwnMemory.count(complementsOf: [needle]) == 0)
        }
    }

    @Test("Good claims are accepted, within the leeway and with other audiences that are permitted")
    func acceptsClaims() throws {
        try token().check(rules)
        try token(["exp": .integer(Self.now - 59), "iat": .integer(Self.now + 60)]).check(rules)
        try token(["exp": .number(Double(Self.now) + 0.5)]).check(rules)
        var wider = rules
        wider.otherAudiences = ["other"]
        try token(["aud": ["client", "other"], "azp": "client"]).check(wider)
        let unnamed = try token(["aud": ["client", "other"]])
        #expect(failure { try unnamed.check(wider) } == .refused)
        wider.subject = "eve"
        let another = try token()
        #expect(failure { try another.check(wider) } == .refused)
        var old = rules
        old.maximumAge = 100
        let late = try token(["iat": .integer(Self.now - 161)])
        #expect(failure { try late.check(old) } == .refused)
        old.now = .max
        #expect(failure { try another.check(old) } == .invalidInput)
    }

    @Test("Nonce and access token must be those of the request", arguments: JSONWebToken.Algorithm.allCases)
    func bindings(_ algorithm: JSONWebToken.Algorithm) throws {
        let access = try SecretBytes.copying("access-token")
        let digest: Digest = algorithm == .edDSA ? .sha512 : .sha256
        let hash = try digest.hash(Array("access-token".utf8).span)
        let half = JSONValue.string(try Base64URL.encode(Array(hash.prefix(hash.count / 2))))
        let token = try token(["at_hash": half], algorithm)
        try token.checkAccessToken(access, isRequired: true)
        try token.checkNonce(try SecretBytes.copying("n-1"))
        let other = try SecretBytes.copying("n-2")
        #expect(failure { try token.checkNonce(other) } == .refused)
        #expect(failure { try token.checkAccessToken(other) } == .refused)
        let without = try self.token([:], algorithm)
        try without.checkAccessToken(access)
        #expect(failure { try without.checkAccessToken(access, isRequired: true) } == .refused)
    }

    @Test("A token under an algorithm that is not permitted, or under another key, is refused")
    func refusesTokens() throws {
        let key = try SigningKeys.key(.es256)
        let text = try JSONWebToken.signing(.object(Self.good), with: key)
        let keys = JSONWebKeySet([key.publicKey])
        let permitted = failure { _ = try JSONWebToken(verifying: text, keys: keys, algorithms: [.rs256]) }
        #expect(permitted == .notAuthentic)
        let other = try JSONWebSigningKey.generate(keyID: "k")
        let others = JSONWebKeySet([other.publicKey])
        #expect(failure { _ = try JSONWebToken(verifying: text, keys: others) } == .notAuthentic)
        let both = JSONWebKeySet([key.publicKey, other.publicKey])
        #expect(failure { _ = try JSONWebToken(verifying: text, keys: both) } == .notAuthentic)
        let long = try SecretBytes.copying(String(repeating: "a", count: JSONWebToken.largestSize + 1))
        #expect(failure { _ = try JSONWebToken(verifying: long, keys: keys) } == .invalidInput)
    }

    /// A token under a header of the caller's choice.
    private func token(header: JSONValue, signing key: borrowing SymmetricKey) throws -> String {
        let head = try Base64URL.encode(Array(try header.jsonText().utf8))
        let body = try Base64URL.encode(Array(try JSONValue.object(Self.good).jsonText().utf8))
        let message = Array("\(head).\(body)".utf8)
        let signature = try Base64URL.encode(try Ed25519.sign(message.span, seed: key))
        return "\(head).\(body).\(signature)"
    }

    @Test("The algorithm Ed25519 of RFC 9864 is EdDSA with an Ed25519 key")
    func ed25519() throws {
        let seed = try SymmetricKey.copying([UInt8].counting(32).span)
        let material = JSONWebKey.Material.ed25519(try Ed25519.publicKey(seed: seed))
        let text = try SecretBytes.copying(try token(header: ["alg": "Ed25519"], signing: seed))
        let key = try JSONWebKey(material)
        let token = try JSONWebToken(verifying: text, keys: JSONWebKeySet([key]))
        #expect(token.algorithm == .edDSA)
        let others = Set(JSONWebToken.Algorithm.allCases).subtracting([.edDSA])
        let code = failure {
            _ = try JSONWebToken(verifying: text, keys: JSONWebKeySet([key]), algorithms: others)
        }
        #expect(code == .notAuthentic)
        guard case .object(var members) = try key.json() else {
            Issue.record("A key is an object.")
            return
        }
        members["alg"] = "Ed25519"
        #expect(try JSONWebKey(parsing: .object(members)).algorithm == .edDSA)
        members["alg"] = "ed25519"
        #expect(failure { _ = try JSONWebKey(parsing: .object(members)) } == .invalidInput)
    }

    @Test("A token with NUL in its text is refused", arguments: ["\0", "\0\0", "\0=="])
    func refusesNUL(_ more: String) throws {
        let seed = try SymmetricKey.copying([UInt8].counting(32).span)
        let keys = JSONWebKeySet([try JSONWebKey(.ed25519(try Ed25519.publicKey(seed: seed)))])
        let good = try token(header: ["alg": "EdDSA"], signing: seed)
        let whole = try SecretBytes.copying(good)
        _ = try JSONWebToken(verifying: whole, keys: keys)
        let longer = try SecretBytes.copying(good + more)
        #expect(failure { _ = try JSONWebToken(verifying: longer, keys: keys) } == .invalidInput)
    }

    @Test("A header of the caller's cannot name another algorithm or key")
    func refusesHeaders() throws {
        let key = try SigningKeys.key(.es256)
        for name in ["alg", "kid"] {
            let code = failure { _ = try JSONWebToken.signing([:], header: [name: "none"], with: key) }
            #expect(code == .invalidInput)
        }
        #expect(failure { _ = try JSONWebToken.signing([], with: key) } == .invalidInput)
    }

    @Test("A proof of possession names method, URL without query, time, nonce and token")
    func proofs() throws {
        let key = try JSONWebSigningKey.generate()
        let hash = try DPoPProof.accessTokenHash(try SecretBytes.copying("access-token"))
        let proof = try DPoPProof(
            method: "POST", url: "https://login.example.org/token?a=b#c", issued: Self.now, nonce: "x",
            accessTokenHash: hash)
        let keys = JSONWebKeySet([key.publicKey])
        let first = try JSONWebToken(
            verifying: try proof.signed(with: key), keys: keys, types: ["dpop+jwt"])
        let second = try JSONWebToken(
            verifying: try proof.signed(with: key), keys: keys, types: ["dpop+jwt"])
        #expect(first.claims["htm"] == "POST")
        #expect(first.claims["htu"] == "https://login.example.org/token")
        #expect(first.claims["iat"] == .integer(Self.now))
        #expect(first.claims["nonce"] == "x" && first.claims["ath"] == .string(hash))
        #expect(first.claims["jti"] != second.claims["jti"])
        let url = "https://login.example.org/"
        #expect(failure { _ = try DPoPProof(method: "post", url: url, issued: 0) } == .invalidInput)
        #expect(failure { _ = try DPoPProof(method: "", url: url, issued: 0) } == .invalidInput)
        #expect(failure { _ = try DPoPProof(method: "GET", url: "http://a", issued: 0) } == .invalidInput)
    }

    @Test("A client's assertion lasts 60 seconds and has a new identifier each time")
    func assertions() throws {
        let key = try SigningKeys.key(.rs256)
        let keys = JSONWebKeySet([key.publicKey])
        var identifiers: Set<JSONValue> = []
        for _ in 0..<3 {
            let text = try ClientAssertion.signed(
                clientID: "client", audience: "https://login.example.org", issued: Self.now, with: key)
            let claims = try JSONWebToken(verifying: text, keys: keys).claims
            #expect(claims["iss"] == "client" && claims["sub"] == "client")
            #expect(claims["aud"] == "https://login.example.org")
            #expect(claims["exp"] == .integer(Self.now + 60))
            identifiers.insert(try #require(claims["jti"]))
        }
        #expect(identifiers.count == 3)
    }

    @Test("A stored key is the same key again")
    func storedKeys() throws {
        for algorithm in JSONWebToken.Algorithm.allCases {
            let key = try SigningKeys.key(algorithm)
            let stored = key.exposing { $0.copied() }
            let again = try JSONWebSigningKey.make(
                algorithm, secret: try SecretBytes.copying(stored.span), keyID: "k")
            let isSame = again.publicKey == key.publicKey
            #expect(isSame)
        }
    }

    @Test("Base64 for URLs has one text for every value", arguments: 0..<10)
    func base64(_ size: Int) throws {
        let bytes = [UInt8].counting(size, from: 0xF8)
        let text = try Base64URL.encode(bytes)
        #expect(try Base64URL.decode(text) == bytes)
        for bad in [text + "=", text + "\n", " " + text, text + "////", text + "\0", "\0" + text] {
            #expect(failure { _ = try Base64URL.decode(bad) } == .invalidInput, "\(bad)")
        }
        #expect(failure { _ = try Base64URL.decode("AB") } == .invalidInput)
    }

    @Test("A proof key has a verifier of 43 characters and never the same one")
    func proofKeys() throws {
        let first = try PKCE.generate()
        let second = try PKCE.generate()
        let (size, challenges) = (first.verifier.count, [first.challenge, second.challenge])
        #expect(size == 43 && challenges[0] != challenges[1])
    }
}
