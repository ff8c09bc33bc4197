@testable import CofferOAuth
import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

/// One request for each renewal, however many ask for it.
@Suite("Refresh: one caller at a time", .timeLimit(.minutes(10)))
struct RefreshOnceTests {
    @Test("Tasks of two vault objects that find an expired token send one request")
    func tasks() async throws {
        try await RefreshFixture.with(hasGrace: false) { fixture in
            let other = try await fixture.otherProcess()
            for round in 1...5 {
                fixture.letExpire()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<12 {
                        group.addTask {
                            let outcome = try await fixture.run(task % 2 == 0 ? nil : other)
                            #expect(outcome.error == nil)
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(fixture.endpoint.received.count == round)
                #expect(try await fixture.refreshToken() == "r\(round)")
                #expect(try await fixture.accessToken(other) == "a-r\(round)")
            }
        }
    }

    @Test("A caller that comes during a renewal waits for it")
    func waits() async throws {
        let gate = AsyncStream<Void>.makeStream()
        let begun = AsyncStream<Void>.makeStream()
        try await RefreshFixture.with { fixture in
            fixture.letExpire()
            fixture.endpoint.then(
                .during {
                    begun.continuation.yield()
                    for await _ in gate.stream { return }
                })
            let first = Task { try await fixture.run() }
            for await _ in begun.stream { break }
            let second = Task { try await fixture.run(need: .always) }
            gate.continuation.yield()
            #expect(try await first.value.name == "refreshed")
            let outcome = try await second.value
            // It waited, or it came later and was the next.
            #expect(outcome.name == "current" || fixture.endpoint.received == ["r0", "r1"])
        }
    }

    @Test("A caller that is cancelled during the exchange stores the answer")
    func cancelled() async throws {
        let begun = AsyncStream<Void>.makeStream()
        let gate = AsyncStream<Void>.makeStream()
        try await RefreshFixture.with(hasGrace: false) { (fixture) async throws in
            fixture.letExpire()
            fixture.endpoint.then(
                .during {
                    begun.continuation.yield()
                    for await _ in gate.stream { return }
                })
            let task = Task { try await fixture.run() }
            for await _ in begun.stream { break }
            task.cancel()
            gate.continuation.yield()
            #expect(try await task.value.name == "refreshed")
            #expect(try await fixture.refreshToken() == "r1")
            fixture.letExpire()
            let hold = AsyncStream<Void>.makeStream()
            let late = Task {
                for await _ in hold.stream { break }
                return try await fixture.run()
            }
            late.cancel()
            #expect(await refusalCode { _ = try await late.value } == .cancelled)
            hold.continuation.finish()
            #expect(fixture.endpoint.received.count == 1)
        }
    }

    /// Tests/OAuthAgent, built beside the tests.
    private static let agent = CommandRun.programs + "OAuthAgent"

    @Test("Processes send one request, and another one goes on where one was killed")
    func processes() async throws {
        try await RefreshFixture.with { (fixture) async throws in
            fixture.letExpire()
            let home = fixture.temporary.location.path.string
            let log = home + ".log"
            defer { try? FileManager.default.removeItem(atPath: log) }
            let arguments = [Self.agent, home, log, fixture.grant.profile, fixture.grant.account]
            let killed = try #require(Helper(arguments + ["wait"]))
            killed.send("go")
            #expect(killed.line() == "asked")
            #expect(try await fixture.state() == "refreshing")
            killed.kill()
            let agents = try (0..<6).map { _ in try #require(Helper(arguments + ["answer"])) }
            for agent in agents { agent.send("go") }
            let outcomes = agents.map { $0.line() ?? "none" }
            #expect(Set(outcomes).isSubset(of: ["refreshed", "current"]), "\(outcomes)")
            let refreshed = outcomes.count { $0 == "refreshed" }
            #expect(refreshed == 1)
            let requests = try String(contentsOfFile: log, encoding: .utf8)
            #expect(requests == "r0 1\nr0 2\n")
            #expect(try await fixture.refreshToken() == "r0+")
            #expect(try await fixture.state() == "paired")
        }
    }
}
