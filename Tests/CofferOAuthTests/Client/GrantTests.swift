@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import Testing

@Suite("Sessions")
struct GrantTests {
    private func code(_ body: () async throws -> Void) async -> CofferError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CofferError)?.code
        }
    }

    @Test("A renewal stores the new tokens and is announced")
    func refresh() async throws {
        try await SignInBench.with { bench in
            var events = bench.oauth.events.makeAsyncIterator()
            let grant = try await bench.signIn()
            bench.authority.change {
                $0.members = ["refresh_token": "refresh-2", "access_token": "access-2"]
            }
            try await grant.refresh()
            #expect(try await text(bench.grants.refreshToken(SignInBench.id)?.token) == "refresh-2")
            #expect(try await text(bench.grants.accessToken(SignInBench.id)?.token) == "access-2")
            let exchange = try #require(bench.authority.exchanges("/token").last)
            #expect(exchange.field("refresh_token") == "refresh")
            let kinds = [await events.next()?.kind, await events.next()?.kind]
            #expect(kinds == [.paired, .refreshed])
        }
    }

    @Test("Of a renewal whose id token is for another user, only the refresh token is kept")
    func otherUser() async throws {
        try await SignInBench.with { bench in
            let grant = try await bench.signIn()
            let now = bench.temporary.clock.source.wallClock().components.seconds
            let claims: JSONValue = [
                "iss": .string(TestAuthority.issuer), "aud": .string(TestAuthority.clientID),
                "sub": "user 8", "iat": .integer(now), "exp": .integer(now + 300),
            ]
            var signer: TestAuthority.Signer?
            bench.authority.change { signer = $0.signer }
            let key = try #require(signer)
            let token = text(try JSONWebToken.signing(claims, with: key.key))
            bench.authority.change { settings in
                settings.members = [
                    "refresh_token": "refresh-2", "access_token": "access-2", "id_token": .string(token),
                ]
            }
            #expect(await code { try await grant.refresh() } == .stateMismatch)
            #expect(try await text(bench.grants.refreshToken(SignInBench.id)?.token) == "refresh-2")
            #expect(try await text(bench.grants.accessToken(SignInBench.id)?.token) == "access")
        }
    }

    @Test("A token goes to the profile's hosts only, and a live one without a request")
    func hosts() async throws {
        try await SignInBench.with { bench in
            let grant = try await bench.signIn()
            let count = bench.authority.count
            let other = try HTTPSURL("https://evil.example.org/me")
            #expect(
                await code {
                    try await grant.withAccessToken(for: other) { (_, _) throws(CofferError) in }
                } == .hostRefused)
            #expect(await code { _ = try await grant.send(OAuthRequest(.get, other)) } == .hostRefused)
            let url = try HTTPSURL("https://api.example.org/me")
            let token = try await grant.withAccessToken(for: url) { (token, _) throws(CofferError) -> Token in
                token
            }
            #expect(text(token) == "access")
            #expect(bench.authority.count == count)
        }
    }

    @Test("A token that is bound to a key is sent with a proof for it")
    func proof() async throws {
        try await SignInBench.with { bench in
            bench.authority.change { $0.discovery["dpop_signing_alg_values_supported"] = ["ES256"] }
            let grant = try await bench.signIn()
            let url = try HTTPSURL("https://api.example.org/me?a=b")
            #expect(try await grant.send(OAuthRequest(.get, url)).status == 200)
            let exchange = try #require(bench.authority.exchanges("/me").last)
            #expect(exchange.header("Authorization") == "DPoP access")
            let proof = try TestProof(exchange.header("DPoP") ?? "")
            #expect(proof.claims["htm"]?.string == "GET")
            #expect(proof.claims["htu"]?.string == "https://api.example.org/me")
            let hash = try DPoPProof.accessTokenHash(try SecretBytes.copying("access"))
            #expect(proof.claims["ath"]?.string == hash)
            let first = try #require(bench.authority.exchanges("/token").first)
            #expect(try TestProof(first.header("DPoP") ?? "").thumbprint == proof.thumbprint)
        }
    }

    @Test(
        "A renewal that changes whether the token is bound is refused, and says which way",
        arguments: [true, false])
    func changedBinding(_ isBound: Bool) async throws {
        try await SignInBench.with { bench in
            if isBound {
                bench.authority.change { $0.discovery["dpop_signing_alg_values_supported"] = ["ES256"] }
            }
            let grant = try await bench.signIn()
            bench.authority.change { $0.members["token_type"] = isBound ? "Bearer" : "DPoP" }
            let error = await useFailure { try await grant.refresh() }
            #expect(error?.code == .serverMalformed)
            let reason = isBound ? "no longer binds" : "bound the access token to a key"
            #expect(error?.message.contains(reason) == true, "\(String(describing: error))")
        }
    }

    @Test(
        "The administrator's policy ends a session beside the profile's, whichever is stricter",
        arguments: [
            ("hourly", GrantPolicy.untilRevoked, 3599, false), ("hourly", .untilRevoked, 3600, true),
            ("hourly", .daily, 3600, true), ("daily", .hourly, 3600, true), ("daily", .daily, 3600, false),
        ])
    func managedPolicy(_ word: String, _ policy: GrantPolicy, _ time: Int, _ hasEnded: Bool) async throws {
        let text = "{\"RefreshTokenPolicy\":\"\(word)\"}"
        let managed = try ManagedConfiguration(parsing: Array(text.utf8))
        try await SignInBench.with(managed: managed, policy: policy) { bench in
            let grant = try await bench.signIn()
            bench.temporary.clock.advance(by: .seconds(time))
            try await bench.temporary.vault.unlock()
            #expect(await code { try await grant.refresh() } == (hasEnded ? .signInNeeded : nil))
            #expect(try await grant.record().state == (hasEnded ? .expired : .paired))
        }
    }

    @Test("A session belongs to the client, the endpoint and the certificate of its sign-in")
    func changedClient() async throws {
        try await SignInBench.with(.mutualTLS) { bench in
            let grant = try await bench.signIn()
            let count = bench.authority.count
            let profiles = bench.oauth.profiles
            let profile = try await profiles.profile("work")
            var other = profile
            other.clientID = "another"
            try await profiles.update(other)
            #expect(await code { try await grant.refresh() } == .signInNeeded)
            other = profile
            other.endpoints?.urls[.token] = try HTTPSURL(TestAuthority.issuer + "/other")
            try await profiles.update(other, acceptsEndpoints: true)
            #expect(await code { try await grant.refresh() } == .signInNeeded)
            try await profiles.update(profile, acceptsEndpoints: true)
            try await profiles.set(Token(copying: "new chain"), as: .certificate, of: "work")
            #expect(await code { try await grant.refresh() } == .signInNeeded)
            #expect(bench.authority.count == count)
            #expect(try await grant.record().state == .paired)
            try await profiles.set(Token(copying: "chain"), as: .certificate, of: "work")
            try await grant.refresh()
            // Another sign-in of the account revokes the tokens of this one.
            #expect(try await grant.record().ownRevocation == nil)
            bench.authority.change {
                $0.members = ["refresh_token": "refresh-2", "access_token": "access-2"]
            }
            try await bench.signIn()
            #expect(try await grant.record().ownRevocation != nil)
        }
    }

    @Test("A session whose time is over is shown as expired before it is used")
    func overdue() async throws {
        try await SignInBench.with(policy: .hourly) { bench in
            let grant = try await bench.signIn()
            #expect(try await grant.currentRecord().state == .paired)
            bench.temporary.clock.advance(by: .seconds(3600))
            try await bench.temporary.vault.unlock()
            #expect(try await grant.record().state == .paired)
            let obstacle = try await grant.currentRecord().obstacle
            #expect(obstacle?.code == .signInNeeded)
        }
    }

    @Test("What a process left to erase is erased at the next start, use, sign-in or signing out")
    func erasure() async throws {
        let steps: [@Sendable (SignInBench, Grant) async throws -> Void] = [
            { (bench, _) async throws in _ = try await bench.oauth.resumeLogouts() },
            { (_, grant) async throws in
                let token = try? await grant.accessToken()
                #expect(token == nil)
            },
            { (bench, _) async throws in _ = try await bench.signIn() },
            { (_, grant) async throws in _ = try await grant.logOut(LogoutOptions(stores: .keep)) },
        ]
        for (index, step) in steps.enumerated() {
            try await SignInBench.with { bench in
                let grant = try await bench.signIn()
                let mark = try SignInBench.id.tokenID(.other)
                let tokens = bench.temporary.vault.tokens
                try await tokens.put("data of the account", for: mark)
                try await bench.grants.update(SignInBench.id) { (record) throws(CofferError) in
                    record.state = .revoked
                    record.isErasureDue = true
                }
                try await step(bench, grant)
                #expect(try await tokens.info(for: mark) == nil, "\(index)")
                let record = try await bench.grants.record(SignInBench.id)
                #expect(record?.isErasureDue != true, "\(index)")
            }
        }
    }

    @Test("Signing out revokes both tokens, and the session is gone")
    func logOut() async throws {
        try await SignInBench.with { bench in
            let grant = try await bench.signIn()
            let receipt = try await grant.logOut(LogoutOptions(stores: .keep))
            #expect(receipt.isRevokedAtServer)
            #expect(bench.authority.exchanges("/revoke").map { $0.field("token") } == ["refresh", "access"])
            #expect(try await !bench.hasSession())
            #expect(await code { try await grant.refresh() } == .signInNeeded)
        }
    }
}
