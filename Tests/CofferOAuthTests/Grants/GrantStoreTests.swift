@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import Testing
import TestSupport

@Suite("Sessions in a vault")
struct GrantStoreTests {
    private func sample(_ clock: VaultClock) throws -> GrantRecord {
        var record = try GrantRecord(
            issuer: "https://login.example.org", subject: "ada", scopes: ["api", "id"], clock: clock)
        let token = try Token(copying: "secret")
        record.state = .uncertain(try RefreshIntent(token, version: 7, clock).counting(3))
        record.lastRefresh = ClockStamp(clock)
        record.instanceURL = "https://api.example.org"
        record.identityURL = "https://login.example.org/id/1"
        record.clockSkew = -17
        record.failure = "No answer."
        record.isErasureDue = true
        record.clientID = "desktop"
        record.tokenEndpoint = "https://login.example.org/token"
        record.certificateDigest = "00"
        record.ownRevocation = ClockStamp(clock)
        record.keepsRefreshToken = true
        return record
    }

    @Test("A record and its key survive, and ballast is not part of them")
    func roundTrip() throws {
        let record = try sample(TestClock().source)
        #expect(try GrantRecord(decoding: record.encoded()) == record)
        var states: [GrantRecord.State] = [.paired, .lost, .revoked, .expired, .leaving(step: "rows")]
        if let intent = record.state.intent { states.append(.refreshing(intent)) }
        for state in states {
            var changed = record
            changed.state = state
            #expect(try GrantRecord(decoding: changed.encoded()).state == state)
        }
        let key = try Token(copying: "key")
        var other = record
        other.state = .paired
        let row = GrantRow(
            current: GrantRow.Part(record: record, dpopKey: key),
            next: GrantRow.Part(record: other, dpopKey: nil))
        let small = try row.encoded(ballast: 0)
        let large = try row.encoded(ballast: 16384)
        #expect(large.count == small.count + 16384)
        let read = try GrantRow(decoding: large)
        #expect(read.current?.record == record && read.next?.record == other)
        #expect(text(read.current?.dpopKey) == "key" && read.next?.dpopKey == nil)
    }

    @Test("A damaged or newer record is refused")
    func damage() throws {
        let bytes = try sample(TestClock().source).encoded()
        let whole = String(decoding: bytes, as: UTF8.self)
        let changes = [
            ("\"version\":1", "\"version\":0"), ("\"uncertain\"", "\"unknown\""),
            ("\"erasureDue\":true", "\"erasureDue\":1"), ("\"attempt\":4", "\"attempt\":-1"),
            ("\"scopes\":", "\"scope\":"), ("\"storage\":\"all\"", "\"storage\":\"none\""),
            ("\"hasDPoPKey\":false", "\"hasDPoPKey\":0"), ("{", "{\"more\":1,"),
            ("\"exchanges\":0", "\"exchanges\":-1"),
        ]
        for (old, new) in changes {
            let text = whole.replacing(old, with: new, maxReplacements: 1)
            #expect(text != whole, "\(old)")
            #expect(failure { _ = try GrantRecord(decoding: Array(text.utf8)) } == .corrupt, "\(new)")
        }
        let newer = "{\"version\":2}"
        #expect(failure { _ = try GrantRecord(decoding: Array(newer.utf8)) } == .unsupportedVersion)
        let rows: [[UInt8]] = [
            [], [1], [1, 3], [0, 0], [1, 1], [1, 1, 0, 0, 0, 0, 9], [1, 1, 2, 0, 0, 0, 0],
        ]
        for row in rows {
            #expect(failure { _ = try GrantRow(decoding: Token(copying: row)) } == .corrupt, "\(row)")
        }
        #expect(failure { _ = try GrantRow(decoding: Token(copying: [2, 0])) } == .unsupportedVersion)
    }

    @Test("The note of an attempt is about one token and one version")
    func intent() throws {
        let token = try Token(copying: "secret")
        let intent = try RefreshIntent(token, version: 7, TestClock().source)
        #expect(try intent.isAbout(token, version: 7))
        #expect(try !intent.isAbout(token, version: 8))
        #expect(try !intent.isAbout(Token(copying: "Secret"), version: 7))
        #expect(try RefreshIntent(token, version: 7, TestClock().source).hash != intent.hash)
        #expect(intent.attempt == 1 && intent.counting(2).attempt == 3)
    }

    @Test("A session is stored with its key, listed and removed; its state is reserved")
    func life() async throws {
        try await TemporaryVault.with { temporary in
            let (store, clock) = (GrantStore(temporary.vault), temporary.clock.source)
            let grant = GrantID(profile: "work", account: "ada")
            let record = try GrantRecord(
                issuer: "https://login.example.org", scopes: ["api"], storage: .refreshOnly, clock: clock)
            try await store.storeNew(
                tokens(EndpointDouble.answer("r0")), record: record, dpopKey: SecretBytes.copying("key"),
                for: grant, storage: .refreshOnly, clock: clock)
            #expect(try await store.record(grant)?.hasDPoPKey == true)
            #expect(try await text(store.dpopKey(grant)) == "key")
            let access = try #require(try await store.accessToken(grant))
            #expect(access.info.isEphemeral && access.life == .seconds(3600) && !access.isDPoP)
            #expect(access.remaining(clock) == .seconds(3600))
            #expect(try await store.list() == [grant])
            let rows = temporary.vault.tokens
            for id in [try grant.grantRow, try grant.revokeRow] {
                #expect(await refusalCode { try await rows.put("{}", for: id) } == .refused)
            }
            try await store.remove(grant)
            #expect(try await store.list().isEmpty)
            #expect(try await store.refreshToken(grant) == nil)
        }
    }

    @Test("Two changes at once are both made")
    func updates() async throws {
        try await RefreshFixture.with { fixture in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await fixture.store.update(fixture.grant) { record in
                            record.clockSkew = (record.clockSkew ?? 0) + 1
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await fixture.store.record(fixture.grant)?.clockSkew == 8)
        }
    }

    @Test("A sign-in is stored although others note in the session's row at the same time")
    func notesDuringSignIn() async throws {
        try await RefreshFixture.with { fixture in
            let (store, grant) = (fixture.store, fixture.grant)
            let clock = fixture.temporary.clock.source
            for number in 0..<24 {
                let record = try GrantRecord(issuer: UseBench.login, scopes: ["api"], clock: clock)
                let answer = try tokens(EndpointDouble.answer("n\(number)"))
                // As the sign-out of another session of the client does, which has no lease of this one.
                async let noted: Void = {
                    for _ in 0..<3 {
                        try await store.noteOwnRevocation(
                            issuer: UseBench.login, clientID: "desktop", clock: clock)
                    }
                }()
                try await store.storeNew(
                    answer, record: record, dpopKey: nil, for: grant, storage: .all, clock: clock)
                try await noted
                #expect(try await store.record(grant)?.generation == record.generation)
                #expect(try await text(store.accessToken(grant)?.token) == text(answer.accessToken))
            }
        }
    }

    @Test("Tokens to revoke are kept once, at most 64 of them, and removed one by one")
    func revocations() async throws {
        try await RefreshFixture.with { fixture in
            let (store, grant) = (fixture.store, fixture.grant)
            var entries: [PendingRevocation] = []
            for number in 0..<70 {
                entries.append(
                    PendingRevocation(
                        .refresh, try Token(copying: "t\(number)"), issuer: UseBench.login,
                        added: .seconds(number)))
            }
            try await store.addPendingRevocations(entries, of: grant)
            try await store.addPendingRevocations(Array(entries.suffix(2)), of: grant)
            let stored = try await store.pendingRevocations(grant)
            #expect(stored.map { text($0.token) } == entries.suffix(64).map { text($0.token) })
            #expect(stored.first?.added == .seconds(6) && stored.first?.kind == .refresh)
            #expect(try await store.listPendingRevocations() == [grant])
            for entry in stored { try await store.removePendingRevocation(entry, of: grant) }
            #expect(try await store.pendingRevocations(grant).isEmpty)
            #expect(try await store.listPendingRevocations().isEmpty)
        }
    }

    @Test("Tokens that anybody stores while the vault is locked belong to no session")
    func planted() async throws {
        try await RefreshFixture.with { fixture in
            fixture.temporary.vault.lock()
            // It knows the vault's directory and no key.
            let other = try await fixture.temporary.openAnother()
            let stranger = GrantID(profile: "work", account: "eve")
            for grant in [fixture.grant, stranger] {
                for kind in [TokenKind.refresh, .access, .id] {
                    _ = try await other.tokens.put("planted", for: grant.tokenID(kind))
                }
                for row in [try grant.grantRow, try grant.revokeRow] {
                    let code = await refusalCode { _ = try await other.tokens.put("planted", for: row) }
                    #expect(code == .refused)
                }
            }
            try await fixture.temporary.vault.unlock()
            #expect(try await fixture.refreshToken() == "r0")
            #expect(try await fixture.accessToken() == "a-r0")
            #expect(try await fixture.store.refreshToken(stranger) == nil)
            #expect(try await fixture.store.list() == [fixture.grant])
            let code = await refusalCode {
                _ = try await fixture.machine().run(stranger, endpoint: fixture.endpoint, need: .always)
            }
            #expect(code == .signInNeeded && fixture.endpoint.received.isEmpty)
            #expect(try await fixture.run(need: .always).name == "refreshed")
            #expect(fixture.endpoint.received == ["r0"])
            // A sign-in of this account takes nothing of them.
            let record = try GrantRecord(
                issuer: "https://login.example.org", scopes: [], storage: .all, clock: fixture.clock.source)
            try await fixture.store.storeNew(
                tokens(EndpointDouble.answer("r9")), record: record, dpopKey: nil, for: stranger,
                storage: .all, clock: fixture.clock.source)
            #expect(text(try await fixture.store.refreshToken(stranger)?.token) == "r9")
            #expect(try await fixture.store.pendingRevocations(stranger).isEmpty)
        }
    }
}
