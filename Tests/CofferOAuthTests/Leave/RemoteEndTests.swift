@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import Testing

@Suite("Sessions that a server ends")
struct RemoteEndTests {
    private static let introspect = UseBench.login + "/introspect"
    private static let active = UseServer.Answer.json(#"{"active":true}"#)
    private static let inactive = UseServer.Answer.json(#"{"active":false}"#)

    private func source(
        _ bench: UseBench, sleep: @escaping @Sendable () async -> Void = {}
    ) -> OAuthRevocationSource {
        let endpoints = bench.endpoints
        return OAuthRevocationSource(
            bench.store, clock: bench.clock.source,
            sleep: { _ in
                await sleep()
                return true
            },
            { () async throws(CofferError) -> [OAuthRevocationSource.Session] in
                [OAuthRevocationSource.Session(UseBench.id, endpoints: endpoints)]
            })
    }

    @Test("A session that was active and is inactive twice is revoked, and only its account is erased")
    func revoked() async throws {
        try await UseBench.with { bench in
            let other = try TokenID(service: "mail", account: "ada")
            try await bench.vault.tokens.put("secret", for: other)
            let source = source(bench)
            bench.server.answer(Self.introspect, Self.active, Self.inactive)
            #expect(try await bench.vault.handleRevocations(from: source).isEmpty)
            let outcomes = try await bench.vault.handleRevocations(from: source)
            guard case .accountWiped(let wiped)? = outcomes.first else {
                Issue.record("The account was not erased.")
                return
            }
            #expect(wiped.account == UseBench.id.tokenAccount)
            #expect(try await bench.state() == "revoked")
            #expect(try await bench.vault.tokens.info(for: other) != nil)
            let hints = bench.server.requests(Self.introspect).map { $0.form("token_type_hint") }
            #expect(hints == ["refresh_token", "refresh_token", "refresh_token"])
            #expect(try await bench.vault.handleRevocations(from: source).isEmpty)
        }
    }

    @Test("A server that never called the session active does not revoke it")
    func neverActive() async throws {
        try await UseBench.with { (bench) async throws in
            bench.server.answer(Self.introspect, Self.inactive)
            #expect(try await source(bench).poll().isEmpty)
            #expect(try await bench.state() == "paired")
        }
    }

    @Test("Neither an unreachable server nor one that changes its mind revokes")
    func doubt() async throws {
        try await UseBench.with { (bench) async throws in
            let source = source(bench)
            bench.server.answer(Self.introspect, Self.active, Self.inactive, Self.active)
            #expect(try await source.poll().isEmpty)
            #expect(try await source.poll().isEmpty)
            for answer in [UseServer.Answer.unreachable, .json("{}", 503), .json("<html>", 404)] {
                bench.server.answer(Self.introspect, answer)
                let error = await useFailure { _ = try await source.poll() }
                #expect(error != nil)
            }
            #expect(try await bench.state() == "paired")
        }
    }

    @Test("A refresh token that is replaced while the server is asked is not revoked")
    func replaced() async throws {
        try await UseBench.with { (bench) async throws in
            let session = bench.session
            let source = source(bench) {
                let live = try? await session.stored()
                if let live { _ = try? await session.renewed(after: live) }
            }
            bench.server.answer(Self.introspect, Self.active, Self.inactive)
            #expect(try await source.poll().isEmpty)
            #expect(try await source.poll().isEmpty)
            #expect(try await text(bench.store.refreshToken(UseBench.id)?.token) == "refresh-2")
        }
    }

    @Test("The end of a session's time applies its own policy")
    func expiry() async throws {
        try await UseBench.with({ $0.policy = .hourly }) { bench in
            var machine = RefreshMachine(
                bench.store, profile: bench.endpoints.profile, clock: bench.clock.source)
            machine.onExpiry = .lock
            let session = SessionTokens(
                UseBench.id, store: bench.store, machine: machine, endpoint: bench.endpoints,
                clock: bench.clock.source)
            bench.clock.advance(by: .seconds(3600))
            try await bench.vault.unlock()
            let error = await useFailure { _ = try await session.current(minimumLife: .zero) }
            #expect(error?.code == .signInNeeded)
            #expect(!bench.vault.isUnlocked)
            try await bench.vault.unlock()
            #expect(try await bench.state() == "expired")
            #expect(try await !bench.record().isErasureDue)
            #expect(try await bench.store.refreshToken(UseBench.id) == nil)
            #expect(try await bench.store.pendingRevocations(UseBench.id).count == 2)
            #expect(bench.server.requests().isEmpty)
        }
    }

    // MARK: Logout tokens

    private static let now: Int64 = 1_800_000_000
    private static let event = "http://schemas.openid.net/event/backchannel-logout"

    private static func claims() -> [String: JSONValue] {
        [
            "iss": .string(UseBench.login), "aud": "desktop", "iat": .integer(now), "jti": "1",
            "exp": .integer(now + 120), "sub": "ada-1", "events": [event: [:]],
        ]
    }

    private func message(_ claims: [String: JSONValue]) throws(CofferError) -> LogoutToken {
        let profile: OAuthProfile
        do {
            profile = try UseBench.profile()
        } catch {
            throw CofferError(.internalFailure, "The test's profile is invalid.")
        }
        return try LogoutToken(.object(claims), profile, now: Self.now)
    }

    @Test("A signed logout token is verified, and one with another key or type is not")
    func signatures() throws {
        let key = try JSONWebSigningKey.generate(keyID: "k")
        let other = try JSONWebSigningKey.generate(keyID: "k")
        let claims = JSONValue.object(Self.claims())
        for (type, isValid) in [("logout+jwt", true), ("JWT", true), ("at+jwt", false)] {
            let signed = try JSONWebToken.signing(
                claims, header: ["typ": .string(type)], with: key)
            let token = try Token(signed)
            let verify = { (keys: JSONWebKeySet) in
                try LogoutToken.verify(token, for: UseBench.profile(), keys: keys, now: Self.now)
            }
            let keys = JSONWebKeySet([key.publicKey])
            #expect(((try? verify(keys)) != nil) == isValid, "\(type)")
            #expect((try? verify(JSONWebKeySet([other.publicKey]))) == nil)
        }
    }

    @Test(
        "A logout token with a wrong claim is refused",
        arguments: [
            ("iss", "https://evil.org"), ("aud", "other"), ("aud", ["desktop", "other"]), ("iat", nil),
            ("iat", 1_799_999_000), ("iat", 1_800_000_061), ("exp", 1_799_999_940), ("exp", nil),
            ("jti", nil), ("jti", ""), ("events", nil), ("events", [:]), ("events", ["x": [:]]),
            ("nonce", "n"), ("sub", nil), ("sub", 1), ("iss", nil), ("aud", nil),
        ] as [(String, JSONValue?)])
    func wrongClaims(_ name: String, _ value: JSONValue?) throws {
        var claims = Self.claims()
        #expect(try message(claims).subject == "ada-1")
        claims[name] = value
        #expect((try? message(claims)) == nil, "\(name)")
    }

    @Test("A logout token ends the sessions of its user that began before it, and no others")
    func ends() async throws {
        try await UseBench.with { bench in
            var claims = Self.claims()
            // Of a session that began in the same second, it is unknown which was first.
            let same = try self.message(claims)
            #expect(try await same.revocations(in: bench.store, of: bench.endpoints.profile).isEmpty)
            claims["iat"] = .integer(Self.now + 1)
            let message = try self.message(claims)
            let own = try await message.revocations(in: bench.store, of: bench.endpoints.profile)
            #expect(own.count == 1)
            claims["sub"] = "ada-2"
            let other = try self.message(claims)
            #expect(try await other.revocations(in: bench.store, of: bench.endpoints.profile).isEmpty)
            // The server repeats its message, and the user has signed in again.
            bench.clock.advance(by: .seconds(2))
            try await bench.signIn()
            #expect(try await message.revocations(in: bench.store, of: bench.endpoints.profile).isEmpty)
        }
    }
}
