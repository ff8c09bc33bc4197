@testable import CofferOAuth
import Coffer
import CofferBase
import CofferEngine
import Testing

@Suite("The identity of a session's user")
struct IdentityUseTests {
    private static let identity = UseBench.login + "/id/00D/005"
    private static let document = #"{"user_id":"005","active":true}"#

    /// A session that names an identity URL.
    private func with(
        _ url: String = IdentityUseTests.identity, _ body: (UseBench) async throws -> Void
    ) async throws {
        try await UseBench.with { bench in
            try await bench.store.remove(UseBench.id)
            try await bench.signIn(identityURL: url)
            try await body(bench)
        }
    }

    @Test("One redirect to the profile's host is followed, with the token")
    func redirect() async throws {
        try await with { bench in
            bench.server.answer(Self.identity, .redirect(UseBench.api + "/id"))
            bench.server.answer(UseBench.api + "/id", .json(Self.document))
            let document = try await bench.client.identity(of: bench.record())
            #expect(document.userID == "005")
            #expect(
                bench.server.requests().map { $0.field("authorization") ?? "" } == [
                    "Bearer access-1", "Bearer access-1",
                ])
        }
    }

    @Test(
        "No token follows a redirect to another host, another port or http",
        arguments: [
            "https://evil.org/id", "http://api.example.org/id", "https://api.example.org:8443/id",
            "https://api.example.org.evil.org/id", "//api.example.org/id", "id", "",
            "https://login.example.org:444/id", "https://user@api.example.org/id",
        ])
    func otherHosts(_ target: String) async throws {
        try await with { (bench) async throws in
            bench.server.answer(Self.identity, .redirect(target))
            let error = await useFailure { _ = try await bench.client.identity(of: bench.record()) }
            #expect(error?.code == .redirectRefused)
            #expect(bench.server.requests().count == 1)
        }
    }

    @Test("A second redirect is refused, also one to the same URL")
    func secondRedirect() async throws {
        try await with { (bench) async throws in
            bench.server.answer(Self.identity, .redirect(Self.identity))
            let error = await useFailure { _ = try await bench.client.identity(of: bench.record()) }
            #expect(error?.code == .redirectRefused)
            #expect(bench.server.requests().count == 2)
        }
    }

    @Test(
        "An identity URL that is not the server's or the profile's receives nothing",
        arguments: ["https://evil.org/id", "http://login.example.org/id", "https://login.example.org:1/id"])
    func otherIdentity(_ url: String) async throws {
        try await with(url) { (bench) async throws in
            let error = await useFailure { _ = try await bench.client.identity(of: bench.record()) }
            #expect(error?.code == .hostRefused)
            #expect(bench.server.requests().isEmpty)
        }
    }

    @Test("Bad_OAuth_Token renews once; the other codes are the caller's")
    func codes() async throws {
        try await with { (bench) async throws in
            bench.server.answer(
                Self.identity, UseServer.Answer(status: 403, body: "Bad_OAuth_Token"), .json(Self.document))
            #expect(try await bench.client.identity(of: bench.record()).userID == "005")
            #expect(bench.renewals == 1)
        }
        for refusal in IdentityRefusal.allCases where !refusal.isAboutToken && !refusal.isRevocation {
            try await with { (bench) async throws in
                bench.server.answer(
                    Self.identity, UseServer.Answer(status: refusal.status, body: refusal.rawValue))
                let error = await useFailure { _ = try await bench.client.identity(of: bench.record()) }
                #expect(error?.code == .serverRefused)
                #expect(error?.serverCode == refusal.rawValue)
                #expect(bench.renewals == 0)
                #expect(try await bench.state() == "paired")
            }
        }
    }

    private static let inactive = [
        UseServer.Answer(status: 404, body: "Inactive"), .json(#"{"user_id":"005","active":false}"#),
    ]

    @Test("Inactive and a user who is not active are revocations, if the server says so twice")
    func revocations() async throws {
        for answer in Self.inactive {
            try await with { bench in
                let other = try TokenID(service: "mail", account: "ada")
                try await bench.vault.tokens.put("secret", for: other)
                bench.server.answer(Self.identity, answer)
                let error = await useFailure { _ = try await bench.client.identity(of: bench.record()) }
                #expect(error?.code == .tokenRevoked)
                #expect(bench.server.requests(Self.identity).count == 2)
                #expect(try await bench.state() == "revoked")
                #expect(try await bench.store.refreshToken(UseBench.id) == nil)
                #expect(try await bench.vault.tokens.info(for: other) != nil)
                let later = await useFailure { _ = try await bench.session.current(minimumLife: .zero) }
                #expect(later?.code == .tokenRevoked)
            }
        }
    }

    /// What the caller gets, as the document's user or the server's code.
    private func told(_ bench: UseBench) async throws -> String? {
        var user: String?
        let error = await useFailure { user = try await bench.client.identity(of: bench.record()).userID }
        #expect(error?.code != .tokenRevoked)
        return error?.serverCode ?? user
    }

    @Test("One such answer alone ends nothing, nor do two different ones")
    func onceOnly() async throws {
        for (first, second) in zip(Self.inactive, Self.inactive.reversed()) {
            try await with { (bench) async throws in
                bench.server.answer(Self.identity, first, .json(Self.document))
                #expect(try await told(bench) == "005")
                #expect(try await bench.state() == "paired")
                bench.server.answer(Self.identity, first, second)
                #expect(try await told(bench) != nil)
                #expect(try await bench.state() == "paired")
            }
        }
    }

    @Test("A resource host to which the identity URL leads ends nothing")
    func otherHostDecidesNothing() async throws {
        for (answer, expected) in zip(Self.inactive, ["Inactive", "005"]) {
            try await with { (bench) async throws in
                bench.server.answer(Self.identity, .redirect(UseBench.api + "/pages/mallory"))
                bench.server.answer(UseBench.api + "/pages/mallory", answer)
                #expect(try await told(bench) == expected)
                #expect(try await bench.state() == "paired")
                #expect(bench.server.requests(Self.identity).count == 1)
            }
            // The server's own pages may lie at another path.
            try await with { (bench) async throws in
                bench.server.answer(Self.identity, .redirect(UseBench.login + "/id"))
                bench.server.answer(UseBench.login + "/id", answer)
                let error = await useFailure { _ = try await bench.client.identity(of: bench.record()) }
                #expect(error?.code == .tokenRevoked)
            }
        }
    }

    @Test("An answer about a token that was renewed meanwhile ends nothing")
    func renewedMeanwhile() async throws {
        for answer in Self.inactive {
            try await with { (bench) async throws in
                bench.server.answer(Self.identity, answer)
                let session = bench.session
                let client = ResourceClient(
                    bench.endpoints, source: session,
                    pause: { _ in
                        guard let live = try? await session.current(minimumLife: .zero) else { return true }
                        _ = try? await session.renewed(after: live)
                        return true
                    })
                let error = await useFailure { _ = try await client.identity(of: bench.record()) }
                #expect(error?.code != .tokenRevoked)
                #expect(bench.renewals == 1)
                #expect(try await bench.state() == "paired")
            }
        }
    }

    @Test("Claims about a user know no deactivation")
    func userInfo() async throws {
        let url = UseBench.login + "/userinfo"
        for answer in [
            UseServer.Answer(status: 404, body: "Inactive"), .json(#"{"sub":"ada-1","active":false}"#),
        ] {
            try await UseBench.with { (bench) async throws in
                bench.server.answer(url, answer)
                _ = try await told(bench)
                #expect(try await bench.state() == "paired")
                #expect(bench.server.requests(url).count == 1)
            }
        }
    }

    @Test(
        "An answer of something in front of the server is no revocation",
        arguments: [(404, "<html>Inactive</html>"), (403, "Inactive"), (404, "inactive"), (503, "Inactive")])
    func noRevocations(_ status: Int, _ body: String) async throws {
        try await with { (bench) async throws in
            bench.server.answer(Self.identity, UseServer.Answer(status: status, body: body))
            let error = await useFailure { _ = try await bench.client.identity(of: bench.record()) }
            #expect(error != nil && error?.code != .tokenRevoked)
            #expect(try await bench.state() == "paired")
        }
    }

    @Test("Claims about another user are refused")
    func subject() async throws {
        try await UseBench.with { (bench) async throws in
            let url = UseBench.login + "/userinfo"
            bench.server.answer(url, .json(#"{"sub":"ada-1","email":"ada@example.org"}"#))
            #expect(try await bench.client.identity(of: bench.record()).email == "ada@example.org")
            bench.server.answer(url, .json(#"{"sub":"ada-2","email":"eve@example.org"}"#))
            let error = await useFailure { _ = try await bench.client.identity(of: bench.record()) }
            #expect(error?.code == .serverMalformed)
        }
    }
}
