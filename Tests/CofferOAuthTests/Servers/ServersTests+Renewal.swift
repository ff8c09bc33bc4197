@testable import CofferOAuth
import Coffer
import CofferBase
import CofferTesting
import SystemPackage
import Testing
import TestSupport

/// Renewals at real servers: rotation, reuse, lost answers, and many callers at once.
extension ServersTests {
    @Test("Each renewal replaces the refresh token", arguments: RealServer.Kind.allCases)
    func rotation(kind: RealServer.Kind) async throws {
        try await ServerBench.with(kind, .init(hasFaults: true)) { bench in
            let grant = try await bench.signIn()
            var seen = [try await bench.refreshToken()]
            for _ in 1...3 {
                try await grant.refresh()
                seen.append(try await bench.refreshToken())
            }
            #expect(Set(seen).count == 4 && !seen.contains(""))
            let log = try await bench.server.renewals()
            #expect(log.map(\.status) == [200, 200, 200])
            #expect(Set(log.compactMap(\.refreshToken)).count == 3)
            #expect(try await bench.status(grant) == 200)
        }
    }

    @Test(
        "After somebody used an old refresh token, the session ends as far as the server says so",
        arguments: RealServer.Kind.allCases)
    func reuse(kind: RealServer.Kind) async throws {
        try await ServerBench.with(kind) { bench in
            let grant = try await bench.signIn()
            let stolen = try await bench.refreshToken()
            try await grant.refresh()
            let fields = [
                (name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: stolen),
                (name: "client_id", value: "native"),
            ]
            let answer = try await bench.server.post(.token, fields)
            #expect(answer.status == 400)
            let isEmpty = answer.body.count == 0
            #expect(isEmpty == (kind == .glewlwyd))
            let code = await refusalCode { try await grant.refresh() }
            switch kind {
            case .django:
                // The user has done nothing: only where tokens stay the same, a refusal is a revocation.
                #expect(code == .sessionLost)
                #expect(try await bench.state() == "lost")
            case .glewlwyd:
                // An empty body says nothing about the session, which ends with the next sign-in.
                #expect(code == .serverRefused)
                #expect(try await bench.state() == "uncertain")
                let again = try await bench.signIn()
                try await again.refresh()
            }
        }
    }

    @Test(
        "A lost answer costs a session only where the server gives no time to ask again",
        arguments: [
            (RealServer.Kind.glewlwyd, 0), (RealServer.Kind.django, 0), (RealServer.Kind.django, 30),
        ])
    func lostAnswer(kind: RealServer.Kind, grace: Int) async throws {
        try await ServerBench.with(kind, .init(grace: grace, hasFaults: true)) { bench in
            let grant = try await bench.signIn()
            // The request does not arrive.
            try await bench.server.fault("refuse")
            try await grant.refresh()
            // The answer arrives whole, and then the connection ends without TLS's closing message.
            try await bench.server.fault("cut", bytes: 1 << 20)
            try await grant.refresh()
            #expect(try await bench.server.renewals().count == 3)
            // The answer is lost.
            try await bench.server.fault("cut", bytes: 40)
            let code = await refusalCode { try await grant.refresh() }
            let log = try await bench.server.renewals().dropFirst(3)
            #expect(log.first?.status == 200 && log.first?.fault == "cut")
            #expect(Set(log.map(\.refreshToken)).count == 1)
            #expect(log.count == 2)
            let state = try await bench.state()
            switch (kind, grace) {
            case (.django, 0): #expect(code == .sessionLost && state == "lost")
            case (.django, _): #expect(code == nil && state == "paired")
            // Its empty body does not say whether the session has ended.
            case (.glewlwyd, _): #expect(code == .serverRefused && state == "uncertain")
            }
            if grace > 0 {
                #expect(try await bench.status(grant) == 200)
                try await grant.refresh()
            } else {
                try await bench.signIn().refresh()
            }
            #expect(try await bench.state() == "paired")
        }
    }

    /// Tests/OAuthAgent, built beside the tests.
    private static let agent = CommandRun.programs + "OAuthAgent"

    @Test(
        "Tasks and processes at once send one request for each renewal", arguments: RealServer.Kind.allCases)
    func atOnce(kind: RealServer.Kind) async throws {
        try await ServerBench.with(kind, .init(life: 3600, hasFaults: true)) { bench in
            _ = try await bench.signIn()
            let grants = [
                try await bench.oauth.grant("work", account: "ada"),
                try await bench.another().grant("work", account: "ada"),
            ]
            let resource = try bench.server.resource()
            let home = bench.temporary.location.path.string
            let agents = try (0..<4).map { _ in
                try #require(Helper([Self.agent, "use", home, "work", "ada", resource.text]))
            }
            for round in 1...3 {
                // Longer than an access token lives.
                bench.clock.advance(by: .seconds(4000))
                for agent in agents { agent.send(String(bench.clock.time.components.seconds)) }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<8 {
                        let grant = grants[task % 2]
                        group.addTask {
                            _ = try await grant.withAccessToken(for: resource, minimumLife: .zero) {
                                (token: Token, _: TokenInfo) async throws(CofferError) -> Int in token.count
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(agents.map { $0.line() } == ["used", "used", "used", "used"])
                let log = try await bench.server.renewals()
                #expect(log.count == round, "\(log)")
                #expect(log.allSatisfy { $0.status == 200 && $0.error == nil })
            }
            #expect(try await bench.state() == "paired")
            #expect(try await bench.status(grants[0]) == 200)
        }
    }
}
