import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Concurrent changes to tokens")
struct TokenConcurrencyTests {
    @Test("Four tasks on two sessions lose no change")
    func fourTasksOverTwoSessionsLoseNothing() async throws {
        let home = try TestHome()
        let sessions = [try await home.create(), try await home.unlocked()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for number in 0..<200 {
                        try await sessions[task % 2].tokens.put(
                            Token(copying: "\(task) \(number)"),
                            for: TokenID(service: "\(task)-\(number % 25)", account: "a"))
                    }
                }
            }
            try await group.waitForAll()
        }
        let list = try await home.unlocked().tokens.list()
        #expect(list.count == 100)
        #expect(list.allSatisfy { $0.version == 8 })
    }

    @Test("A put with an expected version is a compare-and-swap")
    func preconditionIsACompareAndSwap() async throws {
        let home = try TestHome()
        let sessions = [try await home.create(), try await home.unlocked()]
        let id = try TokenID(service: "s", account: "a")
        let successes = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<4 {
                group.addTask {
                    var successes = 0
                    for _ in 0..<50 {
                        let tokens = sessions[task % 2].tokens
                        let version = try await tokens.info(for: id)?.version
                        do {
                            try await tokens.put(
                                Token(copying: "x"), for: id,
                                precondition: version.map { .version($0) } ?? .absent)
                            successes += 1
                        } catch {
                            guard (error as? CofferError)?.code == .conflict else { throw error }
                        }
                    }
                    return successes
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(try await sessions[0].tokens.info(for: id)?.version == UInt64(successes))
        #expect(successes >= 50)
    }

    @Test("Two processes with 500 puts each store 1000 tokens")
    func twoProcessesWithFiveHundredPutsEachMakeAThousand() async throws {
        let home = try TestHome()
        _ = try await home.create()
        let path = home.location.path.string
        let agents = try ["first", "second"].map { try #require(Agent.start(["put", path, $0, "500"])) }
        for agent in agents { agent.send("go") }
        for agent in agents { #expect(agent.line() == "done") }
        let session = try await home.unlocked()
        let list = try await session.tokens.list()
        #expect(list.count == 1000)
        #expect(list.allSatisfy { $0.version == 1 })
        let last = try await session.tokens.withToken(for: TokenID(service: "second-499", account: "agent")) {
            token, _ in token.exposing { $0.copied() }
        }
        #expect(last == Array("value of second 499".utf8))
    }
}
