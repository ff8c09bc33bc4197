@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import Testing
import TestSupport

/// The library's contract with real servers. Each test starts servers of its own, one after another.
@Suite(
    "Real servers", .serialized, .timeLimit(.minutes(10)),
    .enabled(if: RealServer.isPrepared, "Scripts/oauth-servers prepare has not run in this folder"),
    .enabled(if: CurlTransport.libraryVersion != nil, "built without the trait OAuth"))
struct ServersTests {
    // MARK: Discovery

    @Test("Discovery finds every endpoint and pins it", arguments: RealServer.Kind.allCases)
    func discovery(kind: RealServer.Kind) async throws {
        try await ServerBench.with(kind) { bench in
            let profile = try await bench.oauth.discover("work")
            let endpoints = try #require(profile.endpoints)
            for endpoint in ServerEndpoint.allCases {
                #expect(endpoints.urls[endpoint]?.text == bench.server.url(endpoint), "\(endpoint)")
            }
            #expect(endpoints.offersKeyProof == (kind == .glewlwyd))
            #expect(endpoints.mutualTLSAliases.isEmpty == (kind == .django))
            var moved = profile
            moved.endpoints?.urls[.token] = try HTTPSURL(bench.server.issuer + "/elsewhere")
            try await bench.oauth.profiles.update(moved, acceptsEndpoints: true)
            #expect(await refusalCode { _ = try await bench.oauth.discover("work") } == .refused)
            let accepted = try await bench.oauth.discover("work", acceptsEndpoints: true)
            #expect(accepted.endpoints == endpoints)
            var stranger = try OAuthProfile(
                "stranger", issuer: bench.server.issuer, clientID: "native", scopes: bench.server.scopes)
            try await bench.oauth.add(stranger)
            #expect(
                await refusalCode { _ = try await bench.oauth.discover("stranger") } == .certificateRefused)
            stranger.trust = ServerTrust(authorities: try bench.server.file("ca"))
            try await bench.oauth.profiles.update(stranger)
            let known = try await bench.oauth.discover("stranger")
            #expect(known.endpoints?.urls[.token] == endpoints.urls[.token])
        }
    }

    // MARK: Signing in

    @Test(
        "The user signs in in a browser, which comes back to the listener",
        .enabled(if: RealServer.hasBrowser, "there is no Chromium"), arguments: RealServer.Kind.allCases)
    func browser(kind: RealServer.Kind) async throws {
        try await ServerBench.with(kind, keyProof: .whenOffered) { bench in
            let grant = try await bench.oauth.signIn("work", account: ServerBench.id.account, by: .browser)
            #expect(try await bench.status(grant) == 200)
            try await grant.refresh()
            #expect(try await bench.status(grant) == 200)
            let record = try #require(try await bench.grants.record(ServerBench.id))
            #expect(record.hasDPoPKey == (kind == .glewlwyd))
            #expect(record.subject != nil && record.state == .paired)
        }
    }

    @Test(
        "The user pastes the last page's address, and one of another issuer is refused",
        arguments: RealServer.Kind.allCases)
    func paste(kind: RealServer.Kind) async throws {
        try await ServerBench.with(kind) { bench in
            let other = await refusalCode {
                _ = try await bench.signIn { location in
                    let parts = location.parts(between: "&").flatMap { $0.parts(between: "?") }
                    let rest = parts.dropFirst().filter { !$0.utf8.starts(with: "iss=".utf8) }
                    // Glewlwyd names itself without announcing that it does.
                    #expect((rest.count < parts.count - 1) == (kind == .glewlwyd))
                    let changed = rest + ["iss=https%3A%2F%2Fother.example.org"]
                    return (parts.first ?? "") + "?" + changed.joined(separator: "&")
                }
            }
            #expect(other == .issuerMismatch)
            #expect(await refusalCode { _ = try await bench.oauth.grant("work", account: "ada") } != nil)
            let grant = try await bench.signIn()
            #expect(try await bench.status(grant) == 200)
            #expect(try await bench.state() == "paired")
        }
    }

    @Test("The user allows a device while the client asks", arguments: RealServer.Kind.allCases)
    func device(kind: RealServer.Kind) async throws {
        try await ServerBench.with(kind, .init(hasFaults: true), client: "device") { bench in
            let server = bench.server
            let grant = try await bench.oauth.signIn("work", account: "ada", by: .device) { prompt in
                guard case .device(let codes) = prompt else { return }
                // The client asks only after this returns.
                Task {
                    _ = await eventually {
                        let asked = (try? await server.tokenRequests()) ?? []
                        return asked.contains { $0.error == "authorization_pending" }
                    }
                    try? await server.allowDevice(codes.userCode)
                }
            }
            let before = try await bench.refreshToken()
            try await grant.refresh()
            #expect(try await bench.refreshToken() != before)
        }
    }

    @Test(
        "Each client signs in and renews with what proves its identity", arguments: RealServer.Kind.allCases)
    func clients(kind: RealServer.Kind) async throws {
        try await ServerBench.with(kind) { bench in
            for client in bench.server.clients where client.name != "device" {
                let profile = try bench.profile(
                    client.name, client, keyProof: client.name == "dpop" ? .always : .never)
                try await bench.add(profile, client)
                try await use(bench, client.name)
            }
            guard kind == .django else { return }
            let server = try #require(bench.server.clients.first { $0.secret != nil })
            try await bench.add(bench.profile("posted", server, .post), server)
            try await use(bench, "posted")
            try await bench.oauth.profiles.set(Token(copying: "wrong"), as: .secret, of: "posted")
            let grant = try await bench.oauth.grant("posted", account: "ada")
            #expect(await refusalCode { try await grant.refresh() } == .serverRefused)
        }
    }

    /// Signs in, uses the tokens, renews them, and uses the new ones.
    private func use(_ bench: ServerBench, _ profile: String) async throws {
        let grant = try await bench.signIn(profile)
        #expect(try await bench.status(grant) == 200, "\(profile)")
        let id = GrantID(profile: profile, account: ServerBench.id.account)
        let before = try await bench.refreshToken(id)
        try await grant.refresh()
        #expect(try await bench.refreshToken(id) != before, "\(profile)")
        #expect(try await bench.status(grant) == 200, "\(profile)")
    }
}
