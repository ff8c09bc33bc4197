import BenchPeers
import BenchReport
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferOAuth
import FoundationEssentials

/// The work of a program with a session by the library, without a request to the server.
enum OAuthLibraryBenchmarks {
    static let all: [Benchmark] =
        [Benchmark("oauth-with-token", live)]
        + [("rs256", JSONWebToken.Algorithm.rs256), ("es256", .es256)].map { name, algorithm in
            Benchmark("oauth-id-token/\(name)") { (runner) async throws(CofferError) in
                try await idToken(runner, "oauth-id-token/\(name)", algorithm)
            }
        } + [Benchmark("oauth-response", response)]

    // MARK: A live token

    private static func live(_ runner: Runner) async throws(CofferError) {
        let name = "oauth-with-token"
        guard let site = try OAuthBenchmarks.makeSite(name, runner) else { return }
        let issued = try site.ask("token")
        let url = try HTTPSURL(site.origin + "/resource")
        let vault = try await Vault(at: site.location)
        defer { vault.close() }
        try await vault.unlock()
        let grant = try await OAuth(vault).grant("work", account: "ada")
        let id = try TokenID(service: OAuthSite.get[2], account: OAuthSite.get[3])
        var own = ""
        var other = ""
        try await runner.compare(
            name, with: site.ownPeer("TokenStore.get"), clock: .wall,
            note: "theirs: a token that was stored by hand",
            ours: { (runs) async throws(CofferError) in
                for _ in 0..<runs {
                    own = try await grant.withAccessToken(for: url) { (token, _) in
                        token.exposingString { $0 } ?? ""
                    }
                }
            },
            theirs: { (runs) async throws(CofferError) in
                for _ in 0..<runs {
                    other = try await vault.tokens.get(id)?.token.exposingString { $0 } ?? ""
                }
            },
            agree: { own == issued && other == VaultBench.value })
    }

    // MARK: An id token

    private static let issuer = "https://login.example.org"
    private static let client = "desktop"
    private static let now: Int64 = 1_700_000_000

    private static func idToken(
        _ runner: Runner, _ name: String, _ algorithm: JSONWebToken.Algorithm
    ) async throws(CofferError) {
        let peer = try BaselineSignature(algorithm == .rs256 ? .rsa : .ecdsa)
        let file = try peer.privateKeyFile()
        let key = try JSONWebSigningKey.importing(
            SecretBytes.copying(file.span), algorithm: algorithm, keyID: "bench")
        let token = try JSONWebToken.signing(claims, header: ["typ": "JWT"], with: key)
        let keys = JSONWebKeySet([key.publicKey])
        let rules = JSONWebToken.ClaimRules(issuer: issuer, audience: client, now: now)
        let text = token.exposing { $0.copied() }
        let end = text.lastIndex(of: UInt8(ascii: ".")) ?? 0
        let message = Array(text[..<end])
        let encoded = Array(text[(end + 1)...])
        let signature = try peer.converted(Base64URL.decode(encoded.span))
        let forgery = try peer.converted([UInt8](repeating: 1, count: algorithm == .rs256 ? 256 : 64))
        try await runner.compare(
            name, with: DerivationBenchmarks.openSSL,
            note: "theirs: the signature alone, with a key that is ready",
            ours: { (runs) async throws(CofferError) in
                for _ in 0..<runs { try JSONWebToken(verifying: token, keys: keys).check(rules) }
            },
            theirs: { (runs) async throws(CofferError) in
                guard try peer.accepts(signature, of: message, times: runs) else {
                    throw CofferError(.internalFailure, "OpenSSL refuses a signature of ours.")
                }
            },
            agree: { () async throws(CofferError) in
                let isForgeryAccepted = try peer.accepts(forgery, of: message, times: 1)
                let isChangeRefused = try isRefused(text, keys)
                return !isForgeryAccepted && isChangeRefused
            })
    }

    /// The claims of a usual id token.
    private static let claims = JSONValue.object([
        "iss": .string(issuer), "aud": .string(client), "azp": .string(client), "iat": .integer(now),
        "exp": .integer(now + 3600), "auth_time": .integer(now),
        "sub": .string("248289761001"), "nonce": .string("n-0S6_WzA2Mj8vd9cPUfkpEJmTzBIJxfUiCeOnKYQhI"),
        "at_hash": .string("77QmUPtjPfzWtF2AnpK9RQ"), "name": .string("Ada Lovelace"),
        "email": .string("ada@example.org"), "email_verified": .bool(true),
    ])

    /// Returns whether a token with another first byte of the claims is refused.
    private static func isRefused(_ text: [UInt8], _ keys: JSONWebKeySet) throws(CofferError) -> Bool {
        var changed = text
        guard let dot = text.firstIndex(of: UInt8(ascii: ".")) else { return false }
        changed[dot + 3] = changed[dot + 3] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let token = try SecretBytes.copying(changed.span)
        do throws(CofferError) {
            _ = try JSONWebToken(verifying: token, keys: keys)
            return false
        } catch {
            return error.code == .notAuthentic
        }
    }

    // MARK: A response

    /// The members that a program reads from a response with `JSONDecoder`.
    private struct Answer: Decodable {
        let accessToken: String
        let refreshToken: String?
        let idToken: String?
        let tokenType: String
        let lifetime: Int?
        let scope: String?

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case refreshToken = "refresh_token"
            case idToken = "id_token"
            case tokenType = "token_type"
            case lifetime = "expires_in"
            case scope
        }
    }

    private static func response(_ runner: Runner) async throws(CofferError) {
        let name = "oauth-response"
        let idToken = String(repeating: "0123456789abcdef", count: 48)
        let body = Array(
            """
            {"access_token":"\(VaultBench.value)","token_type":"Bearer","expires_in":3600,\
            "refresh_token":"8xLOxBtZp8wDkqx0sWfj7V0Xh2YqPjS9","scope":"openid api offline_access",\
            "id_token":"\(idToken)"}
            """.utf8)
        let data = Data(body)
        let decoder = JSONDecoder()
        var own: TokenResponse?
        var other: Answer?
        try await runner.compare(
            name, with: Peer(name: "JSONDecoder", version: Machine.current().swift),
            note: "theirs: into strings, which are not cleared",
            ours: { (runs) async throws(CofferError) in
                for _ in 0..<runs { own = try TokenResponse(body: body.span) }
            },
            theirs: { (runs) async throws(CofferError) in
                for _ in 0..<runs { other = try? decoder.decode(Answer.self, from: data) }
            },
            agree: {
                guard let own, let other else { return false }
                return own.accessToken?.exposingString { $0 } == other.accessToken
                    && own.refreshToken?.exposingString { $0 } == other.refreshToken
                    && own.idToken?.exposingString { $0 } == other.idToken && own.tokenType == .bearer
                    && other.tokenType == "Bearer" && own.lifetime == other.lifetime
                    && own.scopes?.joined(separator: " ") == other.scope
            })
    }
}
