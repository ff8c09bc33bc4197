@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import Testing

@Suite("Requests to an authorization server")
struct ServerEndpointsTests {
    private func offering(_ bench: SignInBench, nonce: String? = nil) {
        bench.authority.change { settings in
            settings.discovery["dpop_signing_alg_values_supported"] = ["ES256"]
            settings.nonce = nonce
        }
    }

    @Test("Where the server offers it, tokens are bound to a key, with one retry for a nonce")
    func keyProof() async throws {
        try await SignInBench.with(.privateKeyJWT(audience: .issuer)) { bench in
            offering(bench, nonce: "nonce-1")
            try await bench.signIn()
            let exchanges = bench.authority.exchanges("/token")
            #expect(exchanges.count == 2)
            let proofs = try exchanges.map { try TestProof($0.header("DPoP") ?? "") }
            #expect(proofs.map(\.nonce) == [nil, "nonce-1"])
            #expect(proofs[0].claims["jti"] != proofs[1].claims["jti"])
            #expect(exchanges[0].field("client_assertion") != exchanges[1].field("client_assertion"))
            for proof in proofs {
                #expect(proof.claims["htm"]?.string == "POST")
                #expect(proof.claims["htu"]?.string == TestAuthority.issuer + "/token")
            }
            let query = try FormEncoding.decode(bench.log.url?.query ?? "")
            #expect(query.first { $0.name == "dpop_jkt" }?.value == proofs[0].thumbprint)
            #expect(try await bench.grants.record(SignInBench.id)?.hasDPoPKey == true)
            let found = try await bench.grants.dpopKey(SignInBench.id)
            let stored = try #require(found)
            let key = try KeyProof.restoring(try SecretBox(copying: stored).copy())
            #expect(try key.thumbprint() == proofs[0].thumbprint)
        }
    }

    @Test(
        "A server that always asks for another nonce is asked twice, and one with an invalid nonce once",
        arguments: [("nonce-1", 2), ("a b", 1), ("ä", 1)])
    func endlessNonces(_ nonce: String, _ count: Int) async throws {
        try await SignInBench.with { (bench) async throws in
            offering(bench, nonce: nonce)
            bench.authority.change { $0.forgetsNonces = true }
            #expect(await bench.failure()?.serverCode == "use_dpop_nonce")
            #expect(bench.authority.exchanges("/token").count == count)
            #expect(try await !bench.hasSession())
        }
    }

    @Test("A profile that requires a key refuses a token without one, and one that forbids it has none")
    func requiredKeyProof() async throws {
        try await SignInBench.with(keyProof: .always) { (bench) async throws in
            bench.authority.change { $0.members = ["token_type": "Bearer"] }
            #expect(await bench.failure()?.code == .serverMalformed)
            #expect(try await !bench.hasSession())
        }
        try await SignInBench.with(keyProof: .never) { bench in
            offering(bench)
            try await bench.signIn()
            #expect(bench.authority.exchanges("/token").first?.header("DPoP") == nil)
        }
    }

    @Test("Keys are kept, and fetched once more for a key that is unknown")
    func keyRotation() async throws {
        try await SignInBench.with { bench in
            try await bench.signIn()
            try await bench.signIn()
            #expect(bench.authority.exchanges("/keys").count == 1)
            let second = try TestAuthority.Signer("second")
            bench.authority.change { $0.signer = second }
            try await bench.signIn()
            #expect(bench.authority.exchanges("/keys").count == 2)
            let hidden = try TestAuthority.Signer("hidden", isPublished: false)
            bench.authority.change { $0.signer = hidden }
            #expect(await bench.failure()?.code == .serverMalformed)
            // Within half a minute, invented names fetch nothing.
            #expect(bench.authority.exchanges("/keys").count == 2)
            bench.temporary.clock.advance(by: .seconds(31))
            #expect(await bench.failure()?.code == .serverMalformed)
            #expect(bench.authority.exchanges("/keys").count == 3)
        }
    }

    @Test("Keys are fetched again after an hour")
    func keyAge() async throws {
        try await SignInBench.with { bench in
            try await bench.signIn()
            bench.temporary.clock.advance(by: .seconds(3601))
            try await bench.temporary.vault.unlock()
            try await bench.signIn()
            #expect(bench.authority.exchanges("/keys").count == 2)
        }
    }

    @Test("Each endpoint gets an assertion for itself, with the ID of the client's key in its header")
    func assertions() async throws {
        try await SignInBench.with(.privateKeyJWT(audience: .receivingEndpoint)) { bench in
            var profile = try await bench.oauth.profiles.profile("work")
            profile.assertionKeyID = "key-1"
            try await bench.oauth.profiles.update(profile)
            let pushed = TestAuthority.issuer + "/par"
            bench.authority.change { settings in
                settings.discovery["pushed_authorization_request_endpoint"] = .string(pushed)
            }
            try await bench.signIn()
            let key = try JSONWebSigningKey.importing(
                try SecretBytes.copying(SignInBench.key), algorithm: .es256, keyID: "key-1")
            for path in ["/par", "/token"] {
                let exchange = try #require(bench.authority.exchanges(path).last)
                let assertion = try JSONWebToken(
                    verifying: try SecretBytes.copying(exchange.field("client_assertion") ?? ""),
                    keys: JSONWebKeySet([key.publicKey]))
                #expect(assertion.keyID == "key-1")
                #expect(assertion.claims["aud"]?.string == TestAuthority.issuer + path)
            }
        }
    }

    @Test("The server's time is used for what the client signs")
    func skew() async throws {
        try await SignInBench.with(.privateKeyJWT(audience: .issuer)) { bench in
            // The test's clock shows 08:00:00.
            bench.authority.change { settings in
                settings.date = "Fri, 15 Jan 2027 09:00:00 GMT"
                settings.claims = ["exp": 1_800_009_000]
            }
            try await bench.signIn()
            #expect(try await bench.grants.record(SignInBench.id)?.clockSkew == 3600)
        }
    }

    @Test(
        "A server that refuses the time of a signature is asked again with its own, and the session keeps it",
        arguments: [true, false])
    func clockChanged(_ isProof: Bool) async throws {
        try await SignInBench.with(
            isProof ? .none : .privateKeyJWT(audience: .issuer), keyProof: isProof ? .always : .never
        ) { bench in
            offering(bench)
            let grant = try await bench.signIn()
            #expect(bench.authority.exchanges("/token").count == 1)
            // The test's clock shows 08:00:00.
            bench.authority.change { settings in
                settings.date = "Fri, 15 Jan 2027 09:00:00 GMT"
                settings.checksTimes = true
            }
            try await grant.refresh()
            #expect(bench.authority.exchanges("/token").count == 3)
            #expect(try await bench.grants.record(SignInBench.id)?.clockSkew == 3600)
            try await grant.refresh()
            #expect(bench.authority.exchanges("/token").count == 4)
            bench.authority.change { $0.date = "Fri, 15 Jan 2027 07:00:00 GMT" }
            try await grant.refresh()
            #expect(try await bench.grants.record(SignInBench.id)?.clockSkew == -3600)
        }
    }

    @Test("A refusal for another reason, and one by a server whose time agrees, are not repeated")
    func refusedWithTime() async throws {
        try await SignInBench.with(.privateKeyJWT(audience: .issuer)) { bench in
            let grant = try await bench.signIn()
            for (error, date) in [
                ("invalid_client", "Fri, 15 Jan 2027 08:00:20 GMT"),
                ("invalid_scope", "Fri, 15 Jan 2027 11:00:00 GMT"),
                ("invalid_client", "Fri, 15 Jan 2027 11:00:00 GMT"),
            ] {
                let count = bench.authority.exchanges("/token").count
                bench.authority.change { settings in
                    settings.date = date
                    settings.polls = [error, error]
                }
                await #expect(throws: CofferError.self) { try await grant.refresh() }
                let sent = bench.authority.exchanges("/token").count - count
                let isAskedAgain = error == "invalid_client" && date.contains("11:")
                #expect(sent == (isAskedAgain ? 2 : 1), "\(error) \(date)")
            }
        }
    }

    @Test(
        "Dates of HTTP",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Sunday, 06-Nov-94 08:49:37 GMT", nil),
            ("Sun Nov  6 08:49:37 1994", nil), ("Sun, 06 Nov 1994 24:49:37 GMT", nil), ("", nil),
            ("Sun, 06 Nov 1994 08:49:37 UTC", nil), ("Sun, 6 Nov 1994 08:49:37 GMT", nil),
            ("Sun, 06 nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:49 GMT", nil),
        ] as [(String, Int64?)])
    func dates(_ text: String, _ seconds: Int64?) { #expect(ServerTime.seconds(text) == seconds) }

    @Test("A lost answer to a refresh is uncertain, and a refusal is judged by the profile's codes")
    func refresh() async throws {
        try await SignInBench.with(revokedCodes: ["bad_refresh_token"]) { bench in
            try await bench.signIn()
            let profile = try await bench.oauth.profiles.profile("work")
            let endpoints = try await bench.oauth.context.endpoints(profile, proof: nil)
            let token = try SecretBytes.copying("refresh")
            guard case .success = try await endpoints.refresh(token, attempt: 1) else {
                Issue.record("The refresh has no tokens.")
                return
            }
            let exchange = try #require(bench.authority.exchanges("/token").last)
            #expect(exchange.field("refresh_token") == "refresh")
            #expect(exchange.field("grant_type") == "refresh_token")
            bench.authority.change { $0.polls = ["bad_refresh_token", "invalid_client"] }
            guard case .revokedCandidate = try await endpoints.refresh(token, attempt: 1) else {
                Issue.record("The profile's code does not revoke.")
                return
            }
            guard case .refused = try await endpoints.refresh(token, attempt: 1) else {
                Issue.record("Another code is no refusal.")
                return
            }
        }
    }
}

extension SecretBox {
    /// A copy of the bytes.
    func copy() throws(CofferError) -> SecretBytes {
        try bytes.exposing { (bytes) throws(CofferError) -> SecretBytes in try SecretBytes.copying(bytes) }
    }
}
