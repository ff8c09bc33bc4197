@testable import CofferOAuth
import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import Testing

@Suite("Derived tokens")
struct DerivedTokenTests {
    private static let type = "urn:ietf:params:oauth:token-type:access_token"

    private func answer(_ members: String = "") -> UseServer.Answer {
        let type = #""issued_token_type":"\#(Self.type)""#
        return .json(#"{"access_token":"derived","token_type":"Bearer",\#(type)\#(members)}"#)
    }

    private func pool(_ bench: UseBench) -> DerivedTokenPool {
        DerivedTokenPool(bench.vault, clock: bench.clock.source)
    }

    @Test("A token for a page is asked for by exchange, is for that page, and is not stored")
    func page() async throws {
        try await UseBench.with { bench in
            bench.server.answer(UseBench.tokenURL, answer(#","expires_in":60"#))
            let page = try HTTPSURL(UseBench.api + "/apex/page")
            let count = try await bench.vault.tokens.count()
            let token = try await bench.client.derived(
                scopes: ["api"], resource: page, in: pool(bench))
            let request = try #require(bench.server.requests(UseBench.tokenURL).first)
            #expect(
                request.form("grant_type") == "urn:ietf:params:oauth:grant-type:token-exchange")
            #expect(request.form("subject_token") == "access-1")
            #expect(request.form("resource") == page.text)
            #expect(request.form("scope") == "api")
            #expect(try token.withToken(for: page) { text($0) } == "derived")
            #expect(token.allows(try HTTPSURL(UseBench.api + "/apex/page/x")))
            for other in [
                "https://api.example.org/apex/pages", "https://api.example.org/apex",
                "https://evil.org/apex/page",
                "https://api.example.org:8443/apex/page", "https://a.cdn.example.org/apex/page",
            ] {
                let url = try HTTPSURL(other)
                #expect(await useFailure { try token.withToken(for: url) { _ in } }?.code == .hostRefused)
            }
            #expect(try await bench.vault.tokens.count() == count)
        }
    }

    @Test("A token ends with its own life, with the access token's and with a lock")
    func ends() async throws {
        let page = try HTTPSURL(UseBench.api + "/page")
        try await UseBench.with { bench in
            let pool = pool(bench)
            bench.server.answer(UseBench.tokenURL, answer(#","expires_in":60"#))
            let short = try await bench.client.derived(resource: page, in: pool)
            bench.server.answer(UseBench.tokenURL, answer(#","expires_in":86400"#))
            bench.clock.advance(by: .seconds(59))
            let long = try await bench.client.derived(resource: page, in: pool)
            #expect(try short.withToken(for: page) { text($0) } == "derived")
            bench.clock.advance(by: .seconds(1))
            #expect(await useFailure { try short.withToken(for: page) { _ in } }?.code == .absent)
            #expect(try long.withToken(for: page) { text($0) } == "derived")
            bench.clock.advance(by: .seconds(3540))
            #expect(await useFailure { try long.withToken(for: page) { _ in } }?.code == .absent)
        }
        try await UseBench.with { bench in
            bench.server.answer(UseBench.tokenURL, answer())
            let token = try await bench.client.derived(resource: page, in: pool(bench))
            bench.vault.lock()
            #expect(await useFailure { try token.withToken(for: page) { _ in } }?.code == .absent)
        }
    }

    @Test("A token with other rights than those asked for is refused")
    func otherRights() async throws {
        try await UseBench.with { bench in
            let refused = [
                #","scope":"api admin""#, #","scope":"full""#,
            ]
            for members in refused {
                bench.server.answer(UseBench.tokenURL, answer(members))
                let error = await useFailure {
                    _ = try await bench.client.derived(scopes: ["api"], in: pool(bench))
                }
                #expect(error?.code == .serverMalformed)
            }
            bench.server.answer(UseBench.tokenURL, answer(#","scope":"chatter_api""#))
            let token = try await bench.client.derived(scopes: ["api"], in: pool(bench))
            #expect(token.scopes == ["chatter_api"])
            bench.server.answer(
                UseBench.tokenURL,
                .json(
                    #"{"access_token":"a","token_type":"Bearer","#
                        + #""issued_token_type":"urn:ietf:params:oauth:token-type:refresh_token"}"#))
            let type = await useFailure {
                _ = try await bench.client.derived(scopes: ["api"], in: pool(bench))
            }
            #expect(type?.code == .serverMalformed)
        }
    }

    @Test("Nothing is asked for a resource that is not the profile's, or for nothing narrower")
    func noExchange() async throws {
        try await UseBench.with { (bench) async throws in
            let host = await useFailure {
                _ = try await bench.client.derived(resource: HTTPSURL("https://evil.org/"), in: pool(bench))
            }
            #expect(host?.code == .hostRefused)
            let none = await useFailure { _ = try await bench.client.derived(in: pool(bench)) }
            #expect(none?.code == .invalidInput)
            #expect(bench.server.requests().isEmpty)
        }
    }

    @Test("Introspection asks about the access token, at the profile's endpoint only")
    func introspection() async throws {
        try await UseBench.with { (bench) async throws in
            let url = UseBench.login + "/introspect"
            bench.server.answer(url, .json(#"{"active":true,"scope":"api"}"#))
            #expect(try await bench.client.introspect().isActive)
            let request = try #require(bench.server.requests(url).first)
            #expect(request.form("token") == "access-1")
            #expect(request.form("token_type_hint") == "access_token")
        }
        try await UseBench.with({ $0.endpoints?.urls[.introspection] = nil }) { (bench) async throws in
            let error = await useFailure { _ = try await bench.client.introspect() }
            #expect(error?.code == .unsupported)
            #expect(bench.server.requests().isEmpty)
        }
    }
}
