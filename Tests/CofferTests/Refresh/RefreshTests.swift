import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Refreshing tokens", .timeLimit(.minutes(10)))
struct RefreshTests {
    /// On a busy machine a test waits long for its turn.
    private static let long = Duration.seconds(500)

    /// A home with the token `1` of service s and account a.
    private func make() async throws -> (home: TestHome, session: Vault, id: TokenID) {
        let home = try TestHome()
        let session = try await home.create()
        let id = try TokenID(service: "s", account: "a")
        try await session.tokens.put(Token(copying: "1"), for: id)
        return (home, session, id)
    }

    private func text(_ token: Token) -> String {
        token.exposing { String(decoding: $0.copied(), as: UTF8.self) }
    }

    private func value(_ session: Vault, _ id: TokenID) async throws -> String? {
        try await session.tokens.withToken(for: id) { token, _ in text(token) }
    }

    /// How many descriptors of this process are open leases of the home.
    private func waiting(_ home: TestHome) -> Int {
        let folder = home.path("leases").string + "/"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
            return target?.hasPrefix(folder) ?? false
        }
    }

    /// Waits until so many are waiting for a lease or have it.
    private func untilWaiting(_ count: Int, _ home: TestHome) async throws {
        let end = ContinuousClock.now + .seconds(300)
        while waiting(home) != count {
            try #require(ContinuousClock.now < end)
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    @Test("A refresh replaces the token and keeps its metadata")
    func replacesAndReadsBack() async throws {
        let (home, session, id) = try await make()
        let date = Date(timeIntervalSince1970: 2_000_000_000)
        try await session.tokens.put(
            Token(copying: "2"), for: id, class: .afterFirstUnlockThisDeviceOnly, scopes: ["read"],
            attributes: ["issuer": "x"])
        let fresh = try await session.tokens.refresh(id, deadline: Self.long) {
            current, info throws(CofferError) in
            #expect(text(current) == "2" && info.version == 2)
            return RefreshResponse(try Token(copying: "3"), expires: date)
        }
        #expect(fresh?.didRefresh == true && fresh?.info.version == 3)
        #expect(fresh.map { text($0.token) } == "3")
        let info = try #require(try await home.unlocked().tokens.info(for: id))
        #expect(info == fresh?.info)
        #expect(info.protection == .afterFirstUnlockThisDeviceOnly && info.expires == date)
        #expect(info.scopes == ["read"] && info.attributes == ["issuer": "x"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path("leases").string).isEmpty)
        let none = try await session.tokens.refresh(TokenID(service: "t", account: "a")) {
            (_, _) throws(CofferError) in
            Issue.record("There is nothing to refresh.")
            return RefreshResponse(try Token(copying: "x"))
        }
        #expect(none == nil)
    }

    @Test("Waiting callers get the result of the first refresh")
    func whoWaitsGetsTheResult() async throws {
        let (home, session, id) = try await make()
        let (gate, begun) = (AsyncGate(), Counter())
        let first = Task {
            try await session.tokens.refresh(id, deadline: Self.long) { _, _ throws(CofferError) in
                begun.increment()
                await gate.wait()
                return RefreshResponse(try Token(copying: "2"))
            }
        }
        try #require(await eventually(within: Self.long) { begun.value > 0 }, "No refresh begins.")
        let others = [session, try await home.unlocked()].map { session in
            Task {
                try await session.tokens.refresh(id, deadline: Self.long) { _, _ throws(CofferError) in
                    RefreshResponse(try Token(copying: "3"))
                }
            }
        }
        try await untilWaiting(3, home)
        #expect(try await value(session, id) == "1")
        gate.open()
        #expect(try await first.value?.didRefresh == true)
        for other in others {
            let result = try #require(try await other.value)
            #expect(!result.didRefresh && result.info.version == 2 && text(result.token) == "2")
        }
        #expect(try await value(session, id) == "2")
        try await untilWaiting(0, home)
    }

    @Test("Every run of a refresh closure makes exactly one change")
    func runsAreAsManyAsChanges() async throws {
        let (home, session, id) = try await make()
        let sessions = [session, try await home.unlocked()]
        let runs = Counter()
        let own = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var own = 0
                    for _ in 0..<10 {
                        let result = try await sessions[task % 2].tokens.refresh(id, deadline: Self.long) {
                            current, _ throws(CofferError) in
                            runs.increment()
                            let number = (Int(text(current)) ?? 0) + 1
                            return RefreshResponse(try Token(copying: String(number)))
                        }
                        own += result?.didRefresh == true ? 1 : 0
                    }
                    return own
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(own == runs.value)
        #expect(try await value(session, id) == String(runs.value + 1))
        #expect(try await session.tokens.info(for: id)?.version == UInt64(runs.value + 1))
    }

    @Test("A failed refresh changes nothing, and the next caller takes over")
    func aFailureChangesNothingAndTheNextOneTakesOver() async throws {
        let (home, session, id) = try await make()
        let (gate, begun) = (AsyncGate(), Counter())
        let first = Task {
            try await session.tokens.refresh(id, deadline: Self.long) { _, _ throws(CofferError) in
                begun.increment()
                await gate.wait()
                throw CofferError(.refused, "The server says no.")
            }
        }
        try #require(await eventually(within: Self.long) { begun.value > 0 }, "No refresh begins.")
        let second = Task {
            try await session.tokens.refresh(id, deadline: Self.long) { _, _ throws(CofferError) in
                RefreshResponse(try Token(copying: "2"))
            }
        }
        try await untilWaiting(2, home)
        gate.open()
        #expect(await refusal { _ = try await first.value }?.code == .refused)
        #expect(try await second.value?.didRefresh == true)
        #expect(try await value(session, id) == "2")
    }

    @Test("A refresh and a wait for one end with the deadline")
    func deadlines() async throws {
        let (home, session, id) = try await make()
        defer { extendLifetime(home) }
        let slow = await refusal {
            _ = try await session.tokens.refresh(id, deadline: .milliseconds(50)) {
                _, _ throws(CofferError) in
                try? await Task.sleep(for: .seconds(1000))
                throw CofferError(.cancelled, "Stopped.")
            }
        }
        #expect(slow?.code == .timedOut)
        #expect(try await value(session, id) == "1")
        let (gate, begun) = (AsyncGate(), Counter())
        let holder = Task {
            try await session.tokens.refresh(id, deadline: Self.long) { _, _ throws(CofferError) in
                begun.increment()
                await gate.wait()
                return RefreshResponse(try Token(copying: "2"))
            }
        }
        try #require(await eventually(within: Self.long) { begun.value > 0 }, "No refresh begins.")
        let waiter = await refusal {
            _ = try await session.tokens.refresh(id, deadline: .milliseconds(50)) {
                _, _ throws(CofferError) in
                RefreshResponse(try Token(copying: "3"))
            }
        }
        #expect(waiter?.code == .timedOut)
        gate.open()
        _ = try await holder.value
        #expect(try await value(session, id) == "2")
    }

    @Test("A new token that arrives after the deadline is stored")
    func aTokenThatComesTooLateIsStored() async throws {
        let (home, session, id) = try await make()
        defer { extendLifetime(home) }
        let begun = Counter()
        var late: RefreshResult?
        // A machine with other work may let the time pass before the closure is called.
        for milliseconds in [50, 500, 5000, 50_000] where begun.value == 0 {
            do {
                late = try await session.tokens.refresh(id, deadline: .milliseconds(milliseconds)) {
                    _, _ throws(CofferError) in
                    begun.increment()
                    try? await Task.sleep(for: .seconds(1000))
                    return RefreshResponse(try Token(copying: "2"))
                }
            } catch {
                let code = (error as? CofferError)?.code
                try #require(code == .timedOut && begun.value == 0)
            }
        }
        #expect(late?.didRefresh == true)
        #expect(try await value(session, id) == "2")
    }

    @Test("Cancelling ends a refresh and a wait for one")
    func cancellation() async throws {
        let (home, session, id) = try await make()
        let renewing = Task {
            try await session.tokens.refresh(id, deadline: Self.long) { _, _ throws(CofferError) in
                try? await Task.sleep(for: .seconds(1000))
                throw CofferError(.cancelled, "Stopped.")
            }
        }
        try await untilWaiting(1, home)
        let waiting = Task {
            try await session.tokens.refresh(id, deadline: Self.long) { _, _ throws(CofferError) in
                RefreshResponse(try Token(copying: "3"))
            }
        }
        try await untilWaiting(2, home)
        waiting.cancel()
        #expect(await refusal { _ = try await waiting.value }?.code == .cancelled)
        renewing.cancel()
        #expect(await refusal { _ = try await renewing.value }?.code == .cancelled)
        #expect(try await value(session, id) == "1")
    }

    /// A sign-in or sign-out during a refresh is deliberate.
    @Test("A token stored or removed during a refresh is a conflict and stands")
    func whatWasPutOrRemovedMeanwhileStands() async throws {
        let (home, session, id) = try await make()
        defer { extendLifetime(home) }
        let put = await refusal {
            _ = try await session.tokens.refresh(id, deadline: Self.long) { _, _ throws(CofferError) in
                try await session.tokens.put(Token(copying: "signed in again"), for: id)
                return RefreshResponse(try Token(copying: "2"))
            }
        }
        #expect(put?.code == .conflict && put?.currentVersion == 2)
        #expect(try await value(session, id) == "signed in again")
        let removed = await refusal {
            _ = try await session.tokens.refresh(id, deadline: Self.long) { _, _ throws(CofferError) in
                try await session.tokens.remove(id)
                return RefreshResponse(try Token(copying: "2"))
            }
        }
        #expect(removed?.code == .conflict && removed?.currentVersion == nil)
        #expect(try await value(session, id) == nil)
    }

    @Test("A wipe during a refresh ends it as wiped")
    func wipedMeanwhile() async throws {
        let (home, session, id) = try await make()
        defer { extendLifetime(home) }
        let error = await refusal {
            _ = try await session.tokens.refresh(id, deadline: Self.long) { _, _ throws(CofferError) in
                _ = try await session.wipe()
                return RefreshResponse(try Token(copying: "2"))
            }
        }
        #expect(error?.code == .wiped)
    }

    @Test(
        "A session waits for another process's refresh, and takes over if it is killed",
        arguments: [false, true])
    func anotherProcessRefreshes(isKilled: Bool) async throws {
        let (home, session, id) = try await make()
        let agent = try #require(Agent.start(["refresh", home.location.path.string]))
        #expect(agent.line() == "refreshing")
        let own = Task {
            try await session.tokens.refresh(id, deadline: Self.long) { _, _ throws(CofferError) in
                RefreshResponse(try Token(copying: "our own"))
            }
        }
        try await untilWaiting(1, home)
        #expect(try await value(session, id) == "1")
        if isKilled {
            agent.kill()
        } else {
            agent.send("go on")
            #expect(agent.line() == "refreshed")
        }
        let result = try #require(try await own.value)
        #expect(result.didRefresh == isKilled && result.info.version == 2)
        #expect(text(result.token) == (isKilled ? "our own" : "from the agent"))
    }
}
