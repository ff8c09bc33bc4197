@testable import CofferOAuth
import Coffer
import CofferBase
import CofferTesting
import Testing

/// A process that dies between the steps of a renewal, and the next one.
@Suite("Refresh: a crash after each step")
struct RefreshCrashTests {
    private static let crash = CofferError(.permissionDenied, "The process died here.")

    /// The writes are the note, the refresh token, the access token, and the end of the note.
    @Test(
        "The next process finds a session after a crash before each write, and renews at most once more",
        arguments: [
            (0, 0, "refreshed", 1), (1, 1, "refreshed", 2), (2, 1, "refreshed", 2), (3, 1, "current", 1),
        ])
    func beforeWrite(_ writes: Int, _ sent: Int, _ outcome: String, _ total: Int) async throws {
        try await RefreshFixture.with { fixture in
            fixture.letExpire()
            fixture.temporary.faults.fail(.changing, with: Self.crash, after: writes, times: .max)
            #expect(await refusalCode { _ = try await fixture.run() } == .permissionDenied)
            #expect(fixture.endpoint.received.count == sent)
            fixture.temporary.faults.clear()
            let other = try await fixture.otherProcess()
            #expect(try await fixture.run(other).name == outcome)
            #expect(fixture.endpoint.received.count == total)
            #expect(try await fixture.refreshToken(other) == fixture.endpoint.valid)
            #expect(try await fixture.accessToken(other) == "a-" + fixture.endpoint.valid)
            #expect(try await fixture.run(other, need: .always).name == "refreshed")
            #expect(try await fixture.state(other) == "paired")
        }
    }

    @Test(
        "The next process finds a session after a crash after each write, before anything else",
        arguments: [(0, 0, "refreshed"), (1, 1, "refreshed"), (2, 1, "current"), (3, 1, "current")])
    func afterWrite(_ writes: Int, _ sent: Int, _ outcome: String) async throws {
        try await RefreshFixture.with { fixture in
            fixture.letExpire()
            fixture.temporary.faults.fail(.afterCommit, with: Self.crash, after: writes, times: .max)
            #expect(await refusalCode { _ = try await fixture.run() } == .permissionDenied)
            #expect(fixture.endpoint.received.count == sent)
            fixture.temporary.faults.clear()
            let other = try await fixture.otherProcess()
            #expect(try await fixture.run(other).name == outcome)
            #expect(try await fixture.refreshToken(other) == fixture.endpoint.valid)
            #expect(try await fixture.run(other, need: .always).name == "refreshed")
            #expect(try await fixture.state(other) == "paired")
        }
    }

    @Test("An answer that was not stored is lost without grace, and the session is lost, not revoked")
    func withoutGrace() async throws {
        try await RefreshFixture.with(hasGrace: false) { fixture in
            fixture.letExpire()
            fixture.temporary.faults.fail(.changing, with: Self.crash, after: 1, times: .max)
            #expect(await refusalCode { _ = try await fixture.run() } == .permissionDenied)
            fixture.temporary.faults.clear()
            let other = try await fixture.otherProcess()
            #expect(try await fixture.run(other).name == "lost")
            #expect(fixture.endpoint.received == ["r0", "r0"] && fixture.endpoint.attempts == [1, 2])
            #expect(!other.isUnlocked)
            try await other.unlock()
            #expect(try await fixture.state(other) == "lost")
            #expect(try await fixture.refreshToken(other) == "r0")
            #expect(try await fixture.run(other).error?.code == .sessionLost)
            #expect(fixture.endpoint.received.count == 2)
        }
    }

    @Test("A change whose answer was lost took effect, and is not made twice")
    func replyLost() async throws {
        try await RefreshFixture.with { (fixture) async throws in
            fixture.letExpire()
            fixture.temporary.faults.fail(
                .afterCommit, with: CofferError(.interrupted, "Gone."), after: 1, times: 1)
            #expect(try await fixture.run().name == "refreshed")
            #expect(try await fixture.refreshToken() == "r1")
            #expect(fixture.endpoint.received.count == 1)
        }
    }

    @Test(
        "A store that is busy for a moment, or full, costs no token",
        arguments: [CofferError.Code.busy, .inputOutput, .noSpace])
    func triesAgain(_ code: CofferError.Code) async throws {
        try await RefreshFixture.with { (fixture) async throws in
            fixture.letExpire()
            fixture.temporary.faults.fail(.changing, with: CofferError(code, "Later."), after: 1)
            #expect(try await fixture.run().name == "refreshed")
            #expect(try await fixture.refreshToken() == "r1")
        }
    }

    @Test(
        "Nothing is spent that cannot be stored",
        arguments: [CofferError.Code.noSpace, .readOnly, .permissionDenied])
    func nothingSpent(_ code: CofferError.Code) async throws {
        try await RefreshFixture.with { fixture in
            fixture.letExpire()
            fixture.temporary.faults.fail(.changing, with: CofferError(code, "No."), times: .max)
            #expect(await refusalCode { _ = try await fixture.run() } == code)
            fixture.temporary.faults.clear()
            fixture.temporary.vault.lock()
            #expect(await refusalCode { _ = try await fixture.run() } == .locked)
            #expect(fixture.endpoint.received.isEmpty)
            try await fixture.temporary.vault.unlock()
            #expect(try await fixture.run().name == "refreshed")
        }
    }

    @Test("A vault that is locked during the exchange takes the tokens, and shows them after the unlock")
    func lockedMeanwhile() async throws {
        try await RefreshFixture.with { fixture in
            fixture.letExpire()
            let vault = fixture.temporary.vault
            fixture.endpoint.then(.during { vault.lock() })
            #expect(await refusalCode { _ = try await fixture.run() } == .locked)
            try await vault.unlock()
            #expect(try await fixture.refreshToken() == "r1")
            #expect(try await fixture.state() == "refreshing")
            #expect(try await fixture.run().name == "current")
            #expect(try await fixture.accessToken() == "a-r1")
            #expect(fixture.endpoint.received.count == 1)
            #expect(try await fixture.run(need: .always).name == "refreshed")
            #expect(try await fixture.state() == "paired")
        }
    }

    /// The writes are the note, the state, the erasure of two tokens, and the end of the erasure.
    @Test(
        "A process that dies while it erases a revoked session leaves the rest to the next one, once",
        arguments: 2...4)
    func erasure(_ writes: Int) async throws {
        let refusal = try EndpointDouble.invalidGrant()
        try await RefreshFixture.with(steps: [.verdict(refusal), .verdict(refusal)]) { fixture in
            fixture.letExpire()
            fixture.temporary.faults.fail(.changing, with: Self.crash, after: writes, times: .max)
            let code = await refusalCode { _ = try await fixture.run() }
            #expect(code == (writes < 4 ? .permissionDenied : nil))
            fixture.temporary.faults.clear()
            let other = try await fixture.otherProcess()
            let store = GrantStore(other)
            #expect(try await store.record(fixture.grant)?.isErasureDue == true)
            #expect(try await fixture.run(other).name == "revoked")
            #expect(try await fixture.refreshToken(other) == nil)
            #expect(try await fixture.accessToken(other) == nil)
            #expect(try await store.record(fixture.grant)?.isErasureDue == false)
            let id = try fixture.grant.tokenID(.refresh)
            try await other.tokens.put("later", for: id)
            #expect(try await fixture.run(other).name == "revoked")
            #expect(try await fixture.refreshToken(other) == "later")
            #expect(fixture.endpoint.received == ["r0", "r0"])
        }
    }

    @Test(
        "Every end of a session is finished by the policy that applies then",
        arguments: [GrantRecord.State.revoked, .expired, .lost])
    func ends(_ state: GrantRecord.State) async throws {
        for policy in [RevocationPolicy.wipe(.account), .lock, .keep] {
            try await RefreshFixture.with { fixture in
                var machine = fixture.machine()
                machine.onLost = .wipe(.account)
                machine.onExpiry = .wipe(.account)
                let end = machine.sessionEnd
                try await fixture.store.update(fixture.grant) { (record) throws(CofferError) in
                    end.note(state, in: &record)
                }
                #expect(try await fixture.store.record(fixture.grant)?.isErasureDue == true)
                machine.onRevocation = policy
                machine.onLost = policy
                machine.onExpiry = policy
                let outcome = try await machine.run(fixture.grant, endpoint: fixture.endpoint)
                #expect(outcome.name == state.name && fixture.endpoint.received.isEmpty)
                #expect(fixture.temporary.vault.isUnlocked == (policy != .lock))
                try await fixture.temporary.vault.unlock()
                let isErased = try await fixture.refreshToken() == nil
                #expect(isErased == (policy == .wipe(.account)))
                #expect(try await fixture.store.record(fixture.grant)?.isErasureDue == false)
                // With the policy lock, it must not lock again.
                _ = try await machine.run(fixture.grant, endpoint: fixture.endpoint)
                #expect(fixture.temporary.vault.isUnlocked)
            }
        }
    }

    @Test("A sign-in that dies before each write leaves the old session or the new one, never a mixture")
    func signIn() async throws {
        for writes in 0..<7 {
            try await RefreshFixture.with { fixture in
                fixture.temporary.faults.fail(.changing, with: Self.crash, after: writes, times: .max)
                let code = await refusalCode { try await fixture.signIn("n0", scopes: ["api", "id"]) }
                fixture.temporary.faults.clear()
                let other = GrantStore(try await fixture.otherProcess())
                let record = try #require(try await other.record(fixture.grant))
                let isNew = text(try await other.refreshToken(fixture.grant)?.token) == "n0"
                #expect(record.scopes == (isNew ? ["api", "id"] : ["api"]), "\(writes)")
                let access = text(try await other.accessToken(fixture.grant)?.token)
                #expect(access == nil || access == (isNew ? "a-n0" : "a-r0"), "\(writes)")
                let aside = try await other.pendingRevocations(fixture.grant).map { text($0.token) }
                #expect(!aside.contains(isNew ? "n0" : "r0"), "\(writes)")
                if isNew { #expect(aside.contains("r0"), "\(writes)") }
                if code == nil { #expect(isNew) }
            }
        }
    }

    @Test(
        "A renewal after a sign-in that died leaves no token of the session among those to revoke",
        arguments: [1, 2])
    func renewalAfterSignIn(_ writes: Int) async throws {
        try await RefreshFixture.with { fixture in
            fixture.temporary.faults.fail(.changing, with: Self.crash, after: writes, times: .max)
            _ = await refusalCode { try await fixture.signIn("n0") }
            fixture.temporary.faults.clear()
            let vault = try await fixture.otherProcess()
            let other = GrantStore(vault)
            #expect(try await fixture.refreshToken(vault) == "r0")
            #expect(try await other.listPendingRevocations() == [fixture.grant])
            // Many servers end the whole session when its spent token is revoked.
            #expect(try await fixture.run(vault, need: .always).name == "refreshed")
            #expect(try await fixture.refreshToken(vault) == "r1")
            #expect(try await other.pendingRevocations(fixture.grant).isEmpty)
            #expect(try await other.listPendingRevocations().isEmpty)
        }
    }

    @Test("A renewal keeps the tokens of an earlier session among those to revoke")
    func renewalAfterReplacement() async throws {
        try await RefreshFixture.with { fixture in
            // The access token of the earlier session is still stored.
            fixture.temporary.faults.fail(.changing, with: Self.crash, after: 3, times: .max)
            _ = await refusalCode { try await fixture.signIn("r0-new") }
            fixture.temporary.faults.clear()
            let vault = try await fixture.otherProcess()
            let other = GrantStore(vault)
            #expect(try await fixture.refreshToken(vault) == "r0-new")
            let before = try await other.pendingRevocations(fixture.grant).map { text($0.token) }
            fixture.endpoint.then(.keep)
            #expect(try await fixture.run(vault, need: .always).name == "refreshed")
            let after = try await other.pendingRevocations(fixture.grant).map { text($0.token) }
            #expect(before == ["r0", "a-r0"] && after == ["r0", "a-r0"])
        }
    }
}
