@testable import CofferOAuth
import Coffer
import CofferBase
import CofferTesting
import Testing

@Suite("Refresh: times and policies")
struct RefreshTimeTests {
    private static let day = Duration.seconds(86400)

    @Test("An access token is renewed a minute, or a tenth of its life, before its end")
    func due() async throws {
        try await RefreshFixture.with { (fixture) async throws in
            fixture.clock.advance(by: .seconds(3539))
            #expect(try await fixture.run().name == "current")
            let longer = RefreshNeed.due(minimumLife: .seconds(300))
            #expect(try await fixture.run(need: longer).name == "refreshed")
            fixture.clock.advance(by: .seconds(3540))
            #expect(try await fixture.run().name == "refreshed")
            fixture.endpoint.then(
                .body(
                    EndpointDouble.answer("$", life: 100)
                ))
            #expect(try await fixture.run(need: .always).name == "refreshed")
            fixture.clock.advance(by: .seconds(89))
            #expect(try await fixture.run().name == "current")
            fixture.clock.advance(by: .seconds(1))
            #expect(try await fixture.run().name == "refreshed")
        }
    }

    @Test("A wall clock that jumps by a day changes nothing", arguments: [1, -1] as [Int64])
    func jumps(_ days: Int64) async throws {
        try await RefreshFixture.with { (fixture) async throws in
            let policies = [GrantPolicy.absolute(.seconds(7200)), .idle(.seconds(7200))]
            let wall = fixture.clock.source.wallClock()
            fixture.clock.setWallClock(to: wall + Self.day * Int(days))
            #expect(try await fixture.run(policies: policies).name == "current")
            fixture.letExpire()
            #expect(try await fixture.run(policies: policies).name == "refreshed")
            #expect(try await fixture.run(policies: policies).name == "current")
            fixture.letExpire()
            #expect(try await fixture.run(policies: policies).name == "expired")
        }
    }

    @Test("After a reboot the wall clock counts; a token whose age is unknown is renewed")
    func reboot() async throws {
        try await RefreshFixture.with { fixture in
            fixture.clock.reboot()
            fixture.clock.advance(by: .seconds(3000))
            let first = try await fixture.otherProcess()
            #expect(try await fixture.run(first).name == "current")
            fixture.clock.advance(by: .seconds(600))
            #expect(try await fixture.run(first).name == "refreshed")
            fixture.clock.reboot()
            let wall = fixture.clock.source.wallClock()
            fixture.clock.setWallClock(to: wall - Self.day)
            let second = try await fixture.otherProcess()
            let policies = [GrantPolicy.absolute(.seconds(86400)), .idle(.seconds(86400))]
            #expect(try await fixture.run(second, policies: policies).name == "refreshed")
            #expect(try await fixture.run(second, policies: policies).name == "current")
        }
    }

    @Test("Each policy ends a session at its time, and puts its tokens aside")
    func policies() async throws {
        let cases: [(GrantPolicy, Duration, String)] = [
            (.untilRevoked, .seconds(80000), "refreshed"), (.onceOnly, .seconds(10), "current"),
            (.onceOnly, .seconds(3600), "expired"), (.eachStart, .seconds(3600), "refreshed"),
            (.hourly, .seconds(3539), "current"), (.hourly, .seconds(3600), "expired"),
            (.idle(.seconds(60)), .seconds(59), "current"), (.idle(.seconds(60)), .seconds(60), "expired"),
            (.daily, .seconds(80000), "refreshed"),
        ]
        for (policy, time, outcome) in cases {
            try await RefreshFixture.with { fixture in
                fixture.clock.advance(by: time)
                #expect(try await fixture.run(policies: [policy]).name == outcome, "\(policy)")
                guard outcome == "expired" else { return }
                #expect(try await fixture.state() == "expired")
                #expect(try await fixture.refreshToken() == nil)
                let aside = try await fixture.store.pendingRevocations(fixture.grant).map { text($0.token) }
                #expect(aside == ["r0", "a-r0"] && fixture.endpoint.received.isEmpty)
                #expect(try await fixture.run().error?.code == .signInNeeded)
                try await fixture.signIn("n0")
                #expect(try await fixture.run().name == "current")
            }
        }
    }

    @Test(
        "The end of a session's time erases data only at the caller's wish, and not by the wall clock alone",
        arguments: [(false, false), (true, false), (true, true)])
    func erasure(_ isAsked: Bool, _ isRestarted: Bool) async throws {
        try await RefreshFixture.with { fixture in
            let data = try fixture.grant.tokenID(.other)
            try await fixture.temporary.vault.tokens.put("data of the account", for: data)
            if isRestarted { fixture.clock.reboot() }
            fixture.clock.advance(by: .seconds(3600))
            let vault = try await fixture.otherProcess()
            var machine = fixture.machine(vault, policies: [.hourly])
            if isAsked { machine.onExpiry = .wipe(.account) }
            let outcome = try await machine.run(fixture.grant, endpoint: fixture.endpoint)
            #expect(outcome.name == "expired" && fixture.endpoint.received.isEmpty)
            let isErased = try await vault.tokens.info(for: data) == nil
            #expect(isErased == (isAsked && !isRestarted))
            #expect(try await fixture.refreshToken(vault) == nil)
        }
    }

    @Test("A session of another run of the program ends with the policy for each start, and a use is noted")
    func startsAndUses() async throws {
        try await RefreshFixture.with { fixture in
            let clock = fixture.clock.source
            let now = ClockStamp(clock)
            let record = GrantRecord(
                generation: "00", issuer: "https://a.example.org", storage: .all, programRun: "another",
                signedIn: now, lastUse: now, scopes: [])
            #expect(GrantPolicy.eachStart.hasEnded(record, isRenewal: false, clock: clock))
            let policies = [GrantPolicy.idle(.seconds(1000))]
            for (time, isNoted) in [(99, false), (1, true), (99, false)] {
                fixture.clock.advance(by: .seconds(time))
                let before = try #require(try await fixture.store.record(fixture.grant))
                try await fixture.store.noteUse(fixture.grant, of: before, policies: policies, clock: clock)
                let after = try await fixture.store.record(fixture.grant)
                #expect((after != before) == isNoted)
            }
        }
    }

    @Test("Without a session, or without a refresh token, nothing is sent")
    func noSession() async throws {
        try await RefreshFixture.with(storage: .memory) { fixture in
            #expect(try await fixture.run().name == "current")
            fixture.letExpire()
            #expect(await refusalCode { _ = try await fixture.run() } == .signInNeeded)
            fixture.temporary.vault.lock()
            try await fixture.temporary.vault.unlock()
            #expect(try await fixture.store.record(fixture.grant) == nil)
            #expect(try await fixture.store.list().isEmpty)
            #expect(await refusalCode { _ = try await fixture.run() } == .signInNeeded)
            try await fixture.signIn()
            try await fixture.store.update(fixture.grant) { record in record.state = .leaving(step: "rows") }
            #expect(await refusalCode { _ = try await fixture.run(need: .always) } == .signInNeeded)
            #expect(fixture.endpoint.received.isEmpty)
        }
    }
}
