@testable import CofferOAuth
import Coffer
import CofferBase
import CofferTesting
import Testing

@Suite("Live access tokens, found without this library")
struct LiveAccessTests {
    private static let grant = GrantID(profile: "work", account: "ada")

    private func with(
        _ policy: GrantPolicy = .untilRevoked, _ body: (TemporaryVault, GrantStore) async throws -> Void
    ) async throws {
        try await TemporaryVault.with { temporary in
            let (store, clock) = (GrantStore(temporary.vault), temporary.clock.source)
            var profile = try OAuthProfile("work", issuer: "https://login.example.org", clientID: "id")
            profile.policy = policy
            try await ProfileStore(temporary.vault, managed: nil).add(profile)
            let record = try GrantRecord(
                issuer: "https://login.example.org", scopes: ["api"], clock: clock)
            try await store.storeNew(
                tokens(EndpointDouble.answer("r0")), record: record, dpopKey: nil, for: Self.grant,
                storage: .all, clock: clock)
            try await body(temporary, store)
        }
    }

    private func live(_ temporary: TemporaryVault) async throws -> GrantAccess? {
        try await temporary.vault.tokens.liveAccess(
            profile: "work", account: "ada", clock: temporary.clock.source)
    }

    @Test("A live token of a plain session is found until it is due")
    func plain() async throws {
        try await with { (temporary, store) async throws in
            let found = try #require(try await live(temporary))
            #expect(found.info.version == (try await store.accessToken(Self.grant))?.info.version)
            #expect(try await temporary.vault.tokens.sessionAccounts(of: "work") == ["ada"])
            #expect(try await temporary.vault.tokens.profileNames() == ["work"])
            temporary.clock.advance(by: .seconds(3541))
            try await temporary.vault.unlock()
            #expect(try await live(temporary) == nil)
        }
    }

    @Test("Without an account, the session is the empty account's, or the only one")
    func noAccount() async throws {
        try await with { (temporary, store) async throws in
            let (saved, clock) = (temporary.vault.tokens, temporary.clock.source)
            func add(_ account: String, _ answer: String) async throws {
                let record = try GrantRecord(
                    issuer: "https://login.example.org", scopes: ["api"], clock: clock)
                try await store.storeNew(
                    tokens(EndpointDouble.answer(answer)), record: record, dpopKey: nil,
                    for: GrantID(profile: "work", account: account), storage: .all, clock: clock)
            }
            func found() async throws -> String? {
                try await saved.liveAccess(profile: "work", account: nil, clock: clock)?.info.id.account
            }
            #expect(try await found() == "ada")
            #expect(try await saved.liveAccess(profile: "work", account: "", clock: clock) == nil)
            #expect(try await saved.liveAccess(profile: "other", account: nil, clock: clock) == nil)
            try await add("bob", "r1")
            #expect(try await found() == nil)
            try await add("", "r2")
            #expect(try await found() == "")
        }
    }

    @Test("A session of another issuer is left to this library")
    func anotherIssuer() async throws {
        try await with { (temporary, _) async throws in
            #expect(try await live(temporary) != nil)
            let profiles = ProfileStore(temporary.vault, managed: nil)
            // A slash at the end is another issuer.
            for issuer in ["https://evil.example.org", "https://login.example.org/"] {
                try await profiles.remove("work")
                try await profiles.add(OAuthProfile("work", issuer: issuer, clientID: "id"))
                #expect(try await live(temporary) == nil, "\(issuer)")
            }
            try await profiles.remove("work")
            try await profiles.add(
                OAuthProfile("work", issuer: "https://login.example.org", clientID: "id"))
            #expect(try await live(temporary) != nil)
        }
    }

    @Test("A session of another token endpoint is left to this library, which asks for a sign-in")
    func anotherEndpoint() async throws {
        try await with { (temporary, store) async throws in
            let (own, other) = ("https://login.example.org/token", "https://login.example.org/other")
            let profiles = ProfileStore(temporary.vault, managed: nil)
            func pin(_ url: String, alias: String? = nil) async throws {
                var profile = try await profiles.profile("work")
                var endpoints = PinnedEndpoints()
                endpoints.urls[.token] = try HTTPSURL(url)
                if let alias { endpoints.mutualTLSAliases[.token] = try HTTPSURL(alias) }
                profile.endpoints = endpoints
                try await profiles.update(profile, acceptsEndpoints: true)
            }
            try await store.update(Self.grant) { (record) throws(CofferError) in record.tokenEndpoint = own }
            #expect(try await live(temporary) == nil)
            try await pin(own)
            #expect(try await live(temporary) != nil)
            try await pin(other)
            #expect(try await live(temporary) == nil)
            try await pin(other, alias: own)
            #expect(try await live(temporary) != nil)
        }
    }

    @Test("A session that has ended or is being renewed is left to this library")
    func states() async throws {
        try await with { (temporary, store) async throws in
            for state in [GrantRecord.State.lost, .revoked, .expired, .leaving(step: "rows")] {
                try await store.update(Self.grant) { (record) throws(CofferError) in record.state = state }
                #expect(try await live(temporary) == nil, "\(state)")
            }
            try await store.update(Self.grant) { (record) throws(CofferError) in record.state = .paired }
            #expect(try await live(temporary) != nil)
            try await ProfileStore(temporary.vault, managed: nil).remove("work")
            #expect(try await live(temporary) == nil)
        }
    }

    @Test(
        "A session that its policy ends is left to this library",
        arguments: [GrantPolicy.onceOnly, .eachStart, .idle(.seconds(60)), .absolute(.seconds(60))])
    func policies(_ policy: GrantPolicy) async throws {
        try await with(policy) { (temporary, _) async throws in
            #expect(try await live(temporary) == nil)
        }
    }
}
