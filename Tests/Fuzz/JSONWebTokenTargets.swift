@testable import CofferCrypto
import CofferBase
import CofferEngine
import CofferOAuth

/// Signed tokens and the keys of those who sign them: id tokens, logout tokens and key sets of servers.
extension FuzzTarget {
    static let jsonWebTokens = [
        FuzzTarget("jwt") { bytes, _ in try readToken(bytes) },
        FuzzTarget("jwk") { bytes, _ in try readKeys(bytes) },
    ]

    private static let issuer = "https://login.example.org"
    private static let client = "client"
    private static let nonce = "n-0S6_WzA2Mj"
    private static let accessToken = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
    private static let now: Int64 = 1_700_000_000

    /// The input is a token in its compact form, and also a header and claims, with a line feed between them,
    /// that a known key signs.
    private static func readToken(_ bytes: [UInt8]) throws {
        try signThenRead(bytes)
        // Bytes that are accepted under keys whose private halves nobody has were signed by their owner.
        let token = try JSONWebToken(verifying: SecretBytes.copying(bytes.span), keys: FuzzKeys.foreign)
        let message = bytes[..<(bytes.lastIndex(of: UInt8(ascii: ".")) ?? 0)]
        let known = FuzzKeys.messages[token.algorithm].map { Array($0.utf8) }
        try FuzzFinding.require(
            known.map { $0[...] == message } == true, "a token is accepted that nobody signed")
    }

    private static func signThenRead(_ bytes: [UInt8]) throws {
        let parts = bytes.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        // Signing takes longer than everything else: not for what is refused before.
        guard parts.count == 2, let claims = try? JSONValue(parsing: Array(parts[1])), claims.object != nil,
            let name = (try? JSONValue(parsing: Array(parts[0])))?["alg"]?.string
        else { return }
        let key = try FuzzKeys.signing()
        let head = try Base64URL.encode(Array(parts[0]))
        let message = Array("\(head).\(try Base64URL.encode(Array(parts[1])))".utf8)
        let text = message + [UInt8(ascii: ".")] + Array(try Base64URL.encode(key.sign(message.span)).utf8)
        let token: JSONWebToken
        do throws(CofferError) {
            token = try JSONWebToken(
                verifying: SecretBytes.copying(text.span), keys: JSONWebKeySet([key.publicKey]),
                types: ["JWT", "logout+jwt"])
        } catch {
            return
        }
        let isEdDSA = ["EdDSA", "Ed25519"].contains { name.hasSameBytes(as: $0) }
        try FuzzFinding.require(isEdDSA && token.claims == claims, "a signed token is read as another")
        try judge(token)
    }

    /// No token is an id token of the sign-in and a message that sessions ended, and each names its client.
    private static func judge(_ token: JSONWebToken) throws {
        let rules = JSONWebToken.ClaimRules(issuer: issuer, audience: client, now: now)
        let isForClient = isDone { () throws(CofferError) in try token.check(rules) }
        if isForClient {
            let claims = token.claims
            let audience = claims["aud"]?.array ?? claims["aud"].map { [$0] } ?? []
            let isOwn =
                !audience.isEmpty && audience.allSatisfy { $0.string?.hasSameBytes(as: client) == true }
            try FuzzFinding.require(
                claims["iss"]?.string?.hasSameBytes(as: issuer) == true && isOwn
                    && claims["sub"]?.string != nil
                    && (claims["exp"]?.double ?? 0) > Double(now - 61)
                    && (claims["iat"]?.double ?? .infinity) < Double(now + 62),
                "an id token is accepted that is for others, from another time or without a subject")
        }
        let isAnswer = isDone { () throws(CofferError) in
            try token.checkNonce(SecretBytes.copying(nonce))
        }
        if isDone({ () throws(CofferError) in try token.checkAccessToken(SecretBytes.copying(accessToken)) }),
            let hash = token.claims["at_hash"]
        {
            let own = try Digest.sha512.hash(Array(accessToken.utf8).span).prefix(32)
            try FuzzFinding.require(
                hash.string == (try Base64URL.encode(Array(own))), "another access token's hash is accepted")
        }
        let profile = try OAuthProfile("fuzz", issuer: issuer, clientID: client)
        guard let message = try? LogoutToken(token.claims, profile, now: now) else { return }
        try FuzzFinding.require(!isAnswer, "an id token passes for a logout token")
        try FuzzFinding.require(
            message.issuer.hasSameBytes(as: issuer) && (message.subject ?? message.sessionID) != nil
                && (now - LogoutToken.maxAge...now + LogoutToken.leeway).contains(message.issued),
            "a logout token names nobody, or is of another time")
    }

    private static func isDone(_ body: () throws(CofferError) -> Void) -> Bool {
        do throws(CofferError) {
            try body()
            return true
        } catch {
            return false
        }
    }

    /// Every key of a set is public, can be written and read again, and verifies nothing of others.
    private static func readKeys(_ bytes: [UInt8]) throws {
        let set = try JSONWebKeySet(parsing: bytes)
        let list = try JSONValue(parsing: bytes)["keys"]?.array ?? []
        try FuzzFinding.require(set.keys.count + set.ignoredCount == list.count, "keys are not counted")
        for key in set.keys {
            let json = try key.json()
            try FuzzFinding.require(
                try JSONWebKey(parsing: json).material == key.material, "a key comes back as another")
            try FuzzFinding.require(try key.thumbprint().utf8.count == 43, "a thumbprint has another size")
            for algorithm in JSONWebToken.Algorithm.allCases where key.isUsable(for: algorithm) {
                guard let found = try? set.key(named: key.keyID, for: algorithm) else { continue }
                try FuzzFinding.require(found == key, "a key's name is another key's")
            }
        }
        try FuzzFinding.require(
            !list.contains { $0["d"] != nil || $0["k"] != nil } || set.ignoredCount > 0,
            "a private key is accepted")
        for (algorithm, text) in FuzzKeys.tokens {
            guard (try? JSONWebToken(verifying: SecretBytes.copying(text), keys: set)) != nil else {
                continue
            }
            let owner = try FuzzKeys.foreign.key(named: nil, for: algorithm)
            try FuzzFinding.require(
                set.keys.contains { $0.material == owner.material }, "a token is accepted under a foreign key"
            )
        }
    }
}
