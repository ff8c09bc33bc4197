@testable import CofferOAuth
import Coffer
import CofferBase
import CofferTesting
import Testing

/// What each answer means in each state.
@Suite("Refresh: verdicts")
struct RefreshVerdictTests {
    @Test("A renewal stores both tokens; a second call sends nothing")
    func refreshes() async throws {
        try await RefreshFixture.with { fixture in
            #expect(try await fixture.run().name == "current")
            fixture.letExpire()
            #expect(try await fixture.run().name == "refreshed")
            #expect(try await fixture.run().name == "current")
            #expect(fixture.endpoint.received == ["r0"] && fixture.waits.list.isEmpty)
            #expect(try await fixture.refreshToken() == "r1")
            #expect(try await fixture.accessToken() == "a-r1")
            #expect(try await fixture.run(need: .always).name == "refreshed")
            let seen = try await fixture.store.accessToken(fixture.grant)?.info.version
            #expect(try await fixture.run(need: .rejected(version: seen)).name == "refreshed")
            #expect(try await fixture.run(need: .rejected(version: seen)).name == "current")
            #expect(fixture.endpoint.received == ["r0", "r1", "r2"])
        }
    }

    @Test("Without a new refresh token the old one stays and gets a new version")
    func keepsToken() async throws {
        try await RefreshFixture.with(steps: [.keep]) { fixture in
            fixture.letExpire()
            let before = try await fixture.store.refreshToken(fixture.grant)?.info.version
            #expect(try await fixture.run().name == "refreshed")
            let after = try await fixture.store.refreshToken(fixture.grant)
            #expect(text(after?.token) == "r0" && after?.info.version == before.map { $0 + 1 })
            #expect(try await fixture.accessToken() == "kept")
            #expect(try await fixture.store.accessToken(fixture.grant)?.life == .seconds(7200))
        }
    }

    @Test("A lost answer is asked for again with the same token, after 0.5, 2 and 6 seconds")
    func replays() async throws {
        try await RefreshFixture.with(steps: [
            .lostAnswer, .unreachable, .verdict(.uncertain(retryAfter: nil)),
        ]) { (fixture) async throws in
            fixture.letExpire()
            #expect(try await fixture.run().name == "refreshed")
            #expect(fixture.endpoint.received == ["r0", "r0", "r0", "r0"])
            #expect(fixture.endpoint.attempts == [1, 2, 3, 4])
            #expect(fixture.waits.list == [.milliseconds(500), .seconds(2), .seconds(6)])
            #expect(try await fixture.refreshToken() == "r1")
        }
    }

    @Test("Without any answer the session is uncertain, and the next call goes on")
    func uncertain() async throws {
        let cut = EndpointDouble.Step.lostAnswer
        try await RefreshFixture.with(steps: [cut, cut, cut, cut]) { (fixture) async throws in
            fixture.letExpire()
            #expect(try await fixture.run().error?.code == .serverUnreachable)
            #expect(try await fixture.state() == "uncertain")
            #expect(try await fixture.store.record(fixture.grant)?.state.intent?.attempt == 4)
            #expect(try await fixture.run().name == "refreshed")
            #expect(fixture.endpoint.attempts == [1, 2, 3, 4, 5])
        }
    }

    @Test("A wait that the server asks for is kept, unless it is longer than callers wait")
    func retryAfter() async throws {
        let wait = RefreshVerdict.uncertain(retryAfter: .seconds(7))
        let long = RefreshVerdict.uncertain(retryAfter: .seconds(60))
        try await RefreshFixture.with(steps: [.verdict(wait), .verdict(long)]) { (fixture) async throws in
            fixture.letExpire()
            #expect(try await fixture.run().name == "uncertain")
            #expect(fixture.waits.list == [.seconds(7)])
        }
    }

    @Test("A refused token is revoked only by two equal answers a second apart")
    func revoked() async throws {
        let refusal = try EndpointDouble.invalidGrant()
        try await RefreshFixture.with(steps: [.verdict(refusal), .verdict(refusal)]) { fixture in
            fixture.letExpire()
            let outcome = try await fixture.run()
            #expect(outcome.name == "revoked" && outcome.error?.code == .tokenRevoked)
            #expect(outcome.error?.serverCode == "invalid_grant")
            #expect(fixture.waits.list == [.seconds(1)] && fixture.endpoint.received == ["r0", "r0"])
            #expect(try await fixture.state() == "revoked")
            #expect(try await fixture.refreshToken() == nil)
            #expect(try await fixture.accessToken() == nil)
            #expect(try await fixture.run().name == "revoked")
            #expect(fixture.endpoint.received.count == 2)
        }
    }

    @Test("A second answer that differs revokes nothing")
    func notConfirmed() async throws {
        let refusal = try EndpointDouble.invalidGrant()
        let other = try EndpointDouble.refusal("invalid_client")
        try await RefreshFixture.with(steps: [.verdict(refusal)]) { (fixture) async throws in
            fixture.letExpire()
            #expect(try await fixture.run().name == "refreshed")
        }
        try await RefreshFixture.with(steps: [.verdict(refusal), .verdict(other)]) { (fixture) async throws in
            fixture.letExpire()
            #expect(try await fixture.run().name == "refused")
            #expect(try await fixture.state() == "paired")
            #expect(try await fixture.refreshToken() == "r0")
        }
    }

    @Test("After an attempt without an answer, a refused token is lost, and nothing is erased")
    func lost() async throws {
        for policy in [RevocationPolicy.lock, .keep] {
            try await RefreshFixture.with(hasGrace: false, steps: [.lostAnswer]) { fixture in
                fixture.letExpire()
                var machine = fixture.machine()
                machine.onLost = policy
                let outcome = try await machine.run(fixture.grant, endpoint: fixture.endpoint)
                #expect(outcome.name == "lost" && outcome.error?.code == .sessionLost)
                #expect(fixture.temporary.vault.isUnlocked == (policy == .keep))
                try await fixture.temporary.vault.unlock()
                #expect(try await fixture.state() == "lost")
                #expect(try await fixture.refreshToken() == "r0")
            }
        }
        try await RefreshFixture.with(hasGrace: false, steps: [.lostAnswer]) { fixture in
            fixture.letExpire()
            var machine = fixture.machine()
            machine.onLost = .wipe(.account)
            _ = try await machine.run(fixture.grant, endpoint: fixture.endpoint)
            #expect(try await fixture.state() == "lost")
            #expect(try await fixture.refreshToken() == nil)
        }
    }

    @Test("Every other refusal keeps everything, also after an attempt without an answer")
    func refusals() async throws {
        let verdicts: [(EndpointDouble.Step, String)] = [
            (.verdict(.refused(nil)), "uncertain"),
            (.verdict(try EndpointDouble.refusal("Forbidden")), "uncertain"),
            (.verdict(try EndpointDouble.refusal("invalid_client")), "paired"),
            (.unsent(CofferError(.certificateRefused, "Another certificate.")), "paired"),
        ]
        for (verdict, state) in verdicts {
            try await RefreshFixture.with(steps: [verdict]) { (fixture) async throws in
                fixture.letExpire()
                #expect(try await fixture.run().name == "refused")
                #expect(try await fixture.state() == state)
                #expect(try await fixture.refreshToken() == "r0")
                #expect(try await fixture.run().name == "refreshed")
            }
            try await RefreshFixture.with(steps: [.lostAnswer, verdict]) { (fixture) async throws in
                fixture.letExpire()
                #expect(try await fixture.run().name == "refused")
                #expect(try await fixture.state() == "uncertain")
                #expect(try await fixture.refreshToken() == "r0")
                #expect(try await fixture.run().name == "refreshed")
                #expect(try await fixture.refreshToken() == "r1")
            }
        }
    }

    @Test("After an answer that is no error of OAuth, a refused token is lost: the server may have spent it")
    func foreignAnswer() async throws {
        let refusal = EndpointDouble.Step.verdict(try EndpointDouble.invalidGrant())
        for answer in [RefreshVerdict.refused(nil), try EndpointDouble.refusal("Forbidden")] {
            try await RefreshFixture.with(steps: [.verdict(answer), refusal, refusal]) { fixture in
                fixture.letExpire()
                #expect(try await fixture.run().error?.code == .serverRefused)
                #expect(try await fixture.run().name == "lost")
                try await fixture.temporary.vault.unlock()
                #expect(try await fixture.refreshToken() == "r0")
            }
        }
    }

    /// A copy of the vault, or the vault before an older one was put back, can have spent such a token, and a
    /// thief who uses an old one has the server end the session.
    @Test(
        "Where answers replace the refresh token, a refusal is a loss, which erases nothing",
        arguments: [0, 1, 2])
    func replacedTokens(renewals: Int) async throws {
        let refusal = EndpointDouble.Step.verdict(try EndpointDouble.invalidGrant())
        try await RefreshFixture.with { fixture in
            try await fixture.signIn("r0", keepsRefreshToken: renewals == 2)
            for _ in 0..<renewals { #expect(try await fixture.run(need: .always).name == "refreshed") }
            fixture.endpoint.then(refusal, refusal)
            let outcome = try await fixture.run(need: .always)
            #expect(outcome.name == "lost" && outcome.error?.code == .sessionLost)
            #expect(outcome.error?.serverCode == "invalid_grant")
            try await fixture.temporary.vault.unlock()
            #expect(try await fixture.state() == "lost")
            #expect(try await fixture.refreshToken() != nil)
        }
    }

    @Test("An answer without a refresh token, or with the same one, shows that the server keeps tokens")
    func keptTokens() async throws {
        let refusal = EndpointDouble.Step.verdict(try EndpointDouble.invalidGrant())
        for answer in [EndpointDouble.keeping, EndpointDouble.answer("r0")] {
            try await RefreshFixture.with { fixture in
                try await fixture.signIn("r0", keepsRefreshToken: false)
                fixture.endpoint.then(.verdict(try EndpointDouble.success(answer)), refusal, refusal)
                #expect(try await fixture.run(need: .always).name == "refreshed")
                #expect(try await fixture.run(need: .always).name == "revoked")
            }
        }
    }

    @Test("A server that is silent until the time is over was not reached, and a live token is still given")
    func silence() async throws {
        let silence = EndpointDouble.Step.unsent(CofferError(.cancelled, "The exchange was cancelled."))
        try await RefreshFixture.with(steps: [silence, silence, silence, silence]) { (fixture) async throws in
            fixture.clock.advance(by: .seconds(3560))
            let tokens = SessionTokens(
                fixture.grant, store: fixture.store, machine: fixture.machine(), endpoint: fixture.endpoint,
                clock: fixture.clock.source)
            let live = try await tokens.current(minimumLife: .zero)
            #expect(text(live.token) == "a-r0")
            #expect(try await fixture.state() == "uncertain")
            fixture.endpoint.then(silence, silence, silence, silence)
            #expect(try await fixture.run(need: .always).error?.code == .serverUnreachable)
        }
    }

    @Test("After a revocation by this program a refused token is lost, until the server renews the session")
    func ownRevocation() async throws {
        let refusal = EndpointDouble.Step.verdict(try EndpointDouble.invalidGrant())
        for (isSettled, outcome) in [(false, "lost"), (true, "revoked")] {
            try await RefreshFixture.with { fixture in
                try await fixture.store.noteOwnRevocation(
                    issuer: "https://login.example.org", clientID: "any", clock: fixture.clock.source)
                if isSettled { fixture.clock.advance(by: .seconds(300)) }
                fixture.endpoint.then(.verdict(try EndpointDouble.success(EndpointDouble.keeping)))
                #expect(try await fixture.run(need: .always).name == "refreshed")
                fixture.endpoint.then(refusal, refusal)
                let result = try await fixture.run(need: .always)
                #expect(result.name == outcome)
                try await fixture.temporary.vault.unlock()
                #expect(try await fixture.state() == outcome)
            }
        }
    }

    @Test(
        "An answer that fails a check suspends the access token; the refresh token is stored all the same",
        arguments: [
            "{\"access_token\":\"x\",\"token_type\":\"mac\",\"refresh_token\":\"$\"}",
            "{\"access_token\":\"x\",\"token_type\":\"Bearer\",\"refresh_token\":\"$\","
                + "\"scope\":\"api web\"}",
            "{\"access_token\":\"x\",\"token_type\":\"Bearer\",\"refresh_token\":\"$\","
                + "\"instance_url\":\"https://evil.example.com\"}",
        ])
    func suspends(_ body: String) async throws {
        try await RefreshFixture.with(steps: [.body(body)]) { (fixture) async throws in
            #expect(try await fixture.run(need: .always).name == "suspended")
            #expect(try await fixture.refreshToken() == "r1")
            #expect(try await fixture.accessToken() == "a-r0")
            #expect(try await fixture.state() == "paired")
            #expect(try await fixture.run(need: .always).name == "refreshed")
        }
    }

    private static func body(refresh: String) -> String {
        "{\"access_token\":\"x\",\"token_type\":\"Bearer\",\"refresh_token\":\"\(refresh)\"}"
    }

    @Test("With an empty refresh token the old one stays")
    func emptySuccessor() async throws {
        try await RefreshFixture.with(steps: [.body(Self.body(refresh: ""))]) { (fixture) async throws in
            #expect(try await fixture.run(need: .always).name == "refreshed")
            #expect(try await fixture.refreshToken() == "r0")
            #expect(try await fixture.accessToken() == "x")
            #expect(try await fixture.state() == "paired" && fixture.endpoint.received == ["r0"])
        }
    }

    @Test("With an invalid refresh token nothing is stored, and a later refusal is a loss and no revocation")
    func invalidSuccessor() async throws {
        let body = Self.body(refresh: "a b")
        try await RefreshFixture.with(hasGrace: false, steps: [.body(body)]) { fixture in
            let outcome = try await fixture.run(need: .always)
            #expect(outcome.name == "suspended" && outcome.error?.code == .serverMalformed)
            #expect(fixture.endpoint.received == ["r0"] && fixture.waits.list.isEmpty)
            #expect(try await fixture.state() == "uncertain")
            #expect(try await fixture.refreshToken() == "r0")
            #expect(try await fixture.accessToken() == "a-r0")
            #expect(try await fixture.run(need: .always).name == "lost")
        }
    }

    @Test("An id token that fails its check suspends the access token, and the events name each change")
    func checkFails() async throws {
        try await RefreshFixture.with { fixture in
            let stream = fixture.events.stream()
            var machine = fixture.machine()
            machine.check = { (_, _) throws(CofferError) in
                throw CofferError(.issuerMismatch, "Another issuer.")
            }
            let grant = fixture.grant
            let outcome = try await machine.run(grant, endpoint: fixture.endpoint, need: .always)
            #expect(outcome.error?.code == .issuerMismatch)
            #expect(try await fixture.run(need: .always).name == "refreshed")
            var kinds: [OAuthEvent.Kind] = []
            for await event in stream {
                kinds.append(event.kind)
                if kinds.count == 2 { break }
            }
            #expect(kinds == [.refreshFailed, .refreshed])
        }
    }

    @Test("A refresh token that was replaced in another way is kept, and the answer's are put aside")
    func conflict() async throws {
        try await RefreshFixture.with { fixture in
            fixture.letExpire()
            let (tokens, id) = (fixture.temporary.vault.tokens, try fixture.grant.tokenID(.refresh))
            fixture.endpoint.then(.during { _ = try? await tokens.put("other", for: id) })
            #expect(await refusalCode { _ = try await fixture.run() } == .conflict)
            #expect(try await fixture.refreshToken() == "other")
            let aside = try await fixture.store.pendingRevocations(fixture.grant).map { text($0.token) }
            #expect(aside == ["r1", "a-r1"])
        }
    }
}
