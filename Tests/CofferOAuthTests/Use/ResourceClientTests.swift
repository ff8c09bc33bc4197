@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferTesting
import Synchronization
import Testing

@Suite("The use of access tokens")
struct ResourceClientTests {
    private static let path = UseBench.api + "/me"

    private func get(_ url: String) throws -> OAuthRequest { try OAuthRequest(.get, HTTPSURL(url)) }

    @Test(
        "A token goes to no host but the profile's, and nothing is renewed for another one",
        arguments: [
            "https://api.example.org.evil.org/", "https://evilapi.example.org/", "https://example.org/",
            "https://api.example.org:8443/", "https://api.example.orgx/", "https://api-example.org/",
            "https://sub.api.example.org/", "https://cdn.example.org/", "https://xcdn.example.org/",
            "https://a.cdn.example.org:444/", "https://port.example.org/", "https://127.0.0.1/",
            "https://port.example.org:8444/", "https://[::1]/", "https://login.example.org/",
        ])
    func otherHosts(_ url: String) async throws {
        try await UseBench.with { bench in
            bench.clock.advance(by: .seconds(3590))
            try await bench.vault.unlock()
            let error = await useFailure { _ = try await bench.client.send(get(url)) }
            #expect(error?.code == .hostRefused)
            let other = await useFailure {
                try await bench.client.withAccessToken(for: HTTPSURL(url)) {
                    (_, _) throws(CofferError) -> Void in
                    Issue.record("The token was handed out.")
                }
            }
            #expect(other?.code == .hostRefused)
            #expect(bench.server.requests().isEmpty)
        }
    }

    @Test(
        "URLs that programs read differently are no URLs",
        arguments: [
            "http://api.example.org/", "https://api.example.org@evil.org/", "https://API.example.org/",
            "https://api.example.org\\.evil.org/", "https://api.example.org%2eevil.org/",
            "https://api.example.org/#x", "//api.example.org/", "https://api.example.org:0/",
        ])
    func noURLs(_ url: String) { #expect((try? HTTPSURL(url)) == nil) }

    @Test(
        "The profile's hosts receive the token, and requests are not cached",
        arguments: [
            "https://api.example.org/me?a=b", "https://a.cdn.example.org/", "https://b.a.cdn.example.org/x",
            "https://port.example.org:8443/",
        ])
    func ownHosts(_ url: String) async throws {
        try await UseBench.with { bench in
            bench.server.answer(String(url.split(separator: "?")[0]), .json("{}"))
            let answer = try await bench.client.send(get(url))
            #expect(answer.status == 200)
            let request = try #require(bench.server.requests().first)
            #expect(request.field("authorization") == "Bearer access-1")
            #expect(request.field("cache-control") == "no-cache, no-store")
            #expect(bench.server.requests().count == 1)
        }
    }

    @Test("401 renews the token once and sends the request with its body once more")
    func unauthorized() async throws {
        try await UseBench.with { bench in
            bench.server.answer(Self.path, .json("", 401), .json("done"))
            let request = try OAuthRequest(.post, HTTPSURL(Self.path), body: SecretBytes.copying("body"))
            let answer = try await bench.client.send(request)
            #expect(text(answer.body) == "done")
            let seen = bench.server.requests(Self.path)
            #expect(seen.map(\.body) == ["body", "body"])
            #expect(seen.map { $0.field("authorization") } == ["Bearer access-1", "Bearer access-2"])
            #expect(bench.renewals == 1)
        }
    }

    @Test("A second refusal is the caller's, and so is one of a token that was just renewed")
    func secondRefusal() async throws {
        try await UseBench.with { (bench) async throws in
            bench.server.answer(Self.path, .json("no", 401))
            #expect(try await bench.client.send(get(Self.path)).status == 401)
            #expect(bench.server.requests(Self.path).count == 2)
            #expect(bench.renewals == 1)
        }
        try await UseBench.with { bench in
            bench.clock.advance(by: .seconds(3590))
            try await bench.vault.unlock()
            bench.server.answer(Self.path, .json("no", 401))
            #expect(try await bench.client.send(get(Self.path)).status == 401)
            #expect(bench.server.requests(Self.path).count == 1)
            #expect(bench.renewals == 1)
        }
    }

    @Test(
        "403 renews for a code that is known, and for none only if the profile says so",
        arguments: [
            (#"{"error":"invalid_token"}"#, "", false, 1), (#"{"error":"forbidden"}"#, "", false, 0),
            ("", #"Bearer realm="a, b", error="invalid_token""#, false, 1),
            ("", #"Bearer error="insufficient_scope""#, true, 0), ("", "", true, 1), ("", "", false, 0),
            (#"[{"errorCode":"SESSION"}]"#, "", false, 1), ("SESSION\n", "", false, 1),
            ("<html>SESSION</html>", "", false, 0), ("<html>no</html>", "", true, 1),
            (#"{"error":"forbidden"}"#, "", true, 0), (#"{"a":"invalid_token"}"#, "", false, 0),
            ("", #"Bearer error="insufficient_scope", x="error=invalid_token""#, false, 0),
        ] as [(String, String, Bool, Int)])
    func forbidden(_ body: String, _ challenge: String, _ isBare: Bool, _ renewals: Int) async throws {
        try await UseBench.with({ profile in
            profile.quirks = ServerQuirks(renewalCodes: ["SESSION"], renewsOnBareForbidden: isBare)
        }) { bench in
            let fields = challenge.isEmpty ? [] : [(name: "www-authenticate", value: challenge)]
            bench.server.answer(
                Self.path, UseServer.Answer(status: 403, body: body, fields: fields), .json("{}"))
            let answer = try await bench.client.send(get(Self.path))
            #expect(answer.status == (renewals == 0 ? 403 : 200))
            #expect(bench.renewals == renewals)
        }
    }

    @Test(
        "A redirect is returned and not followed; to the page for signing in, it renews",
        arguments: [
            ("https://evil.org/", 0), ("/other", 0), ("https://login.example.org/signin?x=y", 1),
            ("https://login.example.org.evil.org/signin", 0), ("http://login.example.org/signin", 0),
            ("//login.example.org/signin", 0), ("https://login.example.org:444/signin", 0),
        ])
    func redirects(_ target: String, _ renewals: Int) async throws {
        try await UseBench.with({ profile in
            profile.quirks.signInPage = try HTTPSURL("https://login.example.org/signin")
        }) { bench in
            bench.server.answer(Self.path, .redirect(target), .json("{}"))
            let answer = try await bench.client.send(get(Self.path))
            #expect(answer.status == (renewals == 0 ? 302 : 200))
            #expect(bench.renewals == renewals)
            #expect(bench.server.requests().allSatisfy { !$0.url.contains("evil") })
        }
    }

    @Test("A renewal that is refused as revoked ends the session, and the request is not sent again")
    func revoked() async throws {
        try await UseBench.with { (bench) async throws in
            bench.server.answer(Self.path, .json("", 401))
            bench.server.answer(UseBench.tokenURL, .json(#"{"error":"invalid_grant"}"#, 400))
            let error = await useFailure { _ = try await bench.client.send(get(Self.path)) }
            #expect(error?.code == .tokenRevoked)
            #expect(bench.server.requests(Self.path).count == 1)
        }
    }

    @Test("While the server is unreachable, a live token is used, and a dead one is not")
    func unreachable() async throws {
        try await UseBench.with { bench in
            bench.server.answer(Self.path, .json("{}"))
            bench.server.answer(UseBench.tokenURL, .unreachable)
            bench.clock.advance(by: .seconds(3590))
            try await bench.vault.unlock()
            #expect(try await bench.client.send(get(Self.path)).status == 200)
            bench.clock.advance(by: .seconds(11))
            let error = await useFailure { _ = try await bench.client.send(get(Self.path)) }
            #expect(error?.code == .serverUnreachable)
            #expect(bench.server.requests(Self.path).count == 1)
        }
    }

    @Test("A sink keeps the body of a whole success only")
    func sinks() async throws {
        try await UseBench.with { bench in
            bench.server.answer(
                Self.path, .json("blob"), .json("gone", 404),
                UseServer.Answer(body: "half", isComplete: false), .unreachable)
            let request = try get(Self.path)
            let sinks = (0..<5).map { _ in Sink() }
            let whole = try await bench.client.send(request, to: sinks[0])
            #expect(text(whole.body).isEmpty)
            #expect(sinks[0].log == ["blob", "finish"])
            let gone = try await bench.client.send(request, to: sinks[1])
            #expect(text(gone.body) == "gone")
            let half = await useFailure { _ = try await bench.client.send(request, to: sinks[2]) }
            #expect(half?.code == .serverUnreachable)
            let none = await useFailure { _ = try await bench.client.send(request, to: sinks[3]) }
            #expect(none?.code == .serverUnreachable)
            let other = await useFailure {
                _ = try await bench.client.send(get("https://evil.org/"), to: sinks[4])
            }
            #expect(other?.code == .hostRefused)
            #expect(sinks[1...].allSatisfy { $0.log == ["discard"] })
        }
    }

    /// A sink that notes its calls.
    private final class Sink: DownloadSink {
        private let calls = Mutex<[String]>([])
        var log: [String] { calls.withLock { $0 } }

        func write(_ bytes: Span<UInt8>) throws(CofferError) {
            let text = String(decoding: bytes.copied(), as: UTF8.self)
            calls.withLock { $0.append(text) }
        }

        func finish() throws(CofferError) { calls.withLock { $0.append("finish") } }
        func discard() { calls.withLock { $0.append("discard") } }
    }

    @Test("A session starts without the network, or says why it does not")
    func starts() async throws {
        try await UseBench.with { bench in
            let live = await steps(bench, hasCachedData: false)
            #expect(live.map(\.kind) == [.starting])
            #expect(bench.server.requests().isEmpty)
            bench.clock.advance(by: .seconds(3601))
            try await bench.vault.unlock()
            bench.server.answer(UseBench.tokenURL, .unreachable)
            let offline = await steps(bench, hasCachedData: true)
            #expect(offline.map(\.kind) == [.authenticating, .offline])
            #expect(offline.allSatisfy { !$0.isError })
            let empty = await steps(bench, hasCachedData: false)
            #expect(empty.map(\.isError) == [false, true])
            bench.server.answer(UseBench.tokenURL, .json(UseBench.renewal))
            let renewed = await steps(bench, hasCachedData: false)
            #expect(renewed.map(\.kind) == [.authenticating, .starting])
            #expect(renewed.map(\.code) == [2, 1])
            try await bench.store.remove(UseBench.id)
            let none = await steps(bench, hasCachedData: true)
            #expect(none.map(\.isError) == [true])
            #expect(none.first?.kind.name == "AUTHENTICATING")
        }
    }

    private func steps(_ bench: UseBench, hasCachedData: Bool) async -> [SessionStatus] {
        var steps: [SessionStatus] = []
        for await step in bench.client.start(hasCachedData: hasCachedData) { steps.append(step) }
        return steps
    }
}
