@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import Testing

@Suite("Signing in")
struct SignInTests {
    private static let authentications: [ClientAuthentication] = [
        .none, .basic, .post, .privateKeyJWT(audience: .issuer), .privateKeyJWT(audience: .tokenEndpoint),
        .privateKeyJWT(audience: .receivingEndpoint), .mutualTLS,
    ]

    @Test("The listener brings the code, and the tokens are stored", arguments: authentications)
    func browser(_ authentication: ClientAuthentication) async throws {
        try await SignInBench.with(authentication) { bench in
            let grant = try await bench.signIn(by: .browser)
            #expect(grant.profile == "work" && grant.account == "ada")
            let record = try await bench.grants.record(SignInBench.id)
            #expect(record?.state == .paired && record?.subject == "user 7")
            #expect(record?.scopes == ["api", "openid"] && record?.hasDPoPKey == false)
            #expect(try await text(bench.grants.refreshToken(SignInBench.id)?.token) == "refresh")
            #expect(try await text(bench.grants.accessToken(SignInBench.id)?.token) == "access")
            #expect(try await bench.grants.idToken(SignInBench.id) != nil)
            let exchange = try #require(bench.authority.exchanges("/token").last)
            #expect(bench.authority.exchanges("/token").count == 1)
            #expect(bench.authority.exchanges("/revoke").isEmpty)
            try check(exchange, authentication)
        }
    }

    /// Checks what proves the client's identity.
    private func check(
        _ exchange: TestAuthority.Exchange, _ authentication: ClientAuthentication
    ) throws {
        #expect(exchange.header("Cache-Control") == "no-store")
        #expect(exchange.header("Accept") == "application/json")
        #expect(exchange.header("Content-Type") == "application/x-www-form-urlencoded")
        // desk:top and "p ss+%é" in form encoding, then in Base64.
        let isBasic = authentication == .basic
        #expect(
            exchange.header("Authorization")
                == (isBasic ? "Basic ZGVzayUzQXRvcDpwK3NzJTJCJTI1JUMzJUE5" : nil))
        #expect(exchange.field("client_id") == (isBasic ? nil : TestAuthority.clientID))
        #expect(exchange.field("client_secret") == (authentication == .post ? SignInBench.secret : nil))
        #expect(exchange.hasCertificate == (authentication == .mutualTLS))
        guard case .privateKeyJWT(let audience) = authentication else {
            #expect(exchange.field("client_assertion") == nil)
            return
        }
        #expect(exchange.field("client_assertion_type") == ClientAssertion.type)
        let key = try JSONWebSigningKey.importing(
            try SecretBytes.copying(SignInBench.key), algorithm: .es256)
        let assertion = try JSONWebToken(
            verifying: try SecretBytes.copying(exchange.field("client_assertion") ?? ""),
            keys: JSONWebKeySet([key.publicKey]))
        let endpoint = TestAuthority.issuer + (audience == .issuer ? "" : "/token")
        #expect(assertion.claims["aud"]?.string == endpoint)
        #expect(assertion.keyID == nil)
        #expect(assertion.claims["iss"]?.string == TestAuthority.clientID)
        #expect(assertion.claims["sub"]?.string == TestAuthority.clientID)
    }

    @Test("The user pastes the last page's address", arguments: authentications)
    func paste(_ authentication: ClientAuthentication) async throws {
        try await SignInBench.with(authentication) { bench in
            try await bench.signIn()
            guard case .paste(let url)? = bench.log.prompts.last else {
                Issue.record("The user was asked for something else.")
                return
            }
            let query = try FormEncoding.decode(url.query ?? "")
            #expect(query.contains { $0.name == "code_challenge_method" && $0.value == "S256" })
            #expect(!query.contains { $0.name == "code_verifier" || $0.name == "client_secret" })
            #expect(try await bench.hasSession())
        }
    }

    @Test("A device is approved after it was told to slow down", arguments: authentications)
    func device(_ authentication: ClientAuthentication) async throws {
        try await SignInBench.with(authentication) { bench in
            bench.authority.change { $0.polls = ["slow_down", "authorization_pending"] }
            try await bench.signIn(by: .device)
            #expect(bench.log.pauses == [.seconds(5), .seconds(10), .seconds(10)])
            guard case .device(let codes)? = bench.log.prompts.last else {
                Issue.record("The user was asked for something else.")
                return
            }
            #expect(codes.userCode == "ABCD-EFGH" && !SignInPrompt.deviceWarning.isEmpty)
            #expect(bench.authority.exchanges("/token").count == 3)
            let start = try #require(bench.authority.exchanges("/device").first)
            #expect(start.field("scope") == "api openid")
            #expect(try await bench.hasSession())
        }
    }

    @Test(
        "A device that is refused, or whose code expires, leaves nothing",
        arguments: [
            ("access_denied", CofferError.Code.serverRefused), ("expired_token", .timedOut),
            ("invalid_client", .serverRefused),
        ])
    func refusedDevice(_ error: String, _ code: CofferError.Code) async throws {
        try await SignInBench.with { (bench) async throws in
            bench.authority.change { $0.polls = [error] }
            #expect(await bench.failure(by: .device)?.code == code)
            #expect(try await !bench.hasSession())
        }
    }

    @Test("Without a browser, the user is shown the URL and the listener goes on")
    func noBrowser() async throws {
        try await SignInBench.with(hasBrowser: false) { (bench) async throws in
            let task = Task { await bench.failure(by: .browser)?.code }
            while bench.log.prompts.count < 2 { await Task.yield() }
            guard case .openYourself? = bench.log.prompts.last else {
                Issue.record("The user was asked for something else.")
                return
            }
            task.cancel()
            #expect(await task.value == .cancelled)
            #expect(try await !bench.hasSession())
        }
    }

    @Test("Parameters that are sent ahead do not appear in the URL")
    func pushed() async throws {
        try await SignInBench.with(.post) { bench in
            let url = JSONValue.string(TestAuthority.issuer + "/par")
            bench.authority.change { $0.discovery["pushed_authorization_request_endpoint"] = url }
            try await bench.signIn()
            let query = try FormEncoding.decode(bench.log.url?.query ?? "")
            #expect(query.map(\.name).sorted() == ["client_id", "request_uri"])
            let exchange = try #require(bench.authority.exchanges("/par").first)
            #expect(exchange.field("code_challenge_method") == "S256")
            #expect(exchange.field("client_secret") == SignInBench.secret)
            #expect(exchange.form.count { $0.name == "client_id" } == 1)
            #expect(try await bench.hasSession())
        }
    }

    @Test("A session in memory asks for no refresh token")
    func memory() async throws {
        let scopes = ["api", "refresh_token", "offline_access"]
        try await SignInBench.with(scopes: scopes, storage: .memory) { bench in
            bench.authority.change { $0.members = ["refresh_token": .null, "id_token": .null] }
            try await bench.signIn()
            let query = try FormEncoding.decode(bench.log.url?.query ?? "")
            #expect(query.first { $0.name == "scope" }?.value == "api")
        }
    }

    @Test("The endpoints of the first discovery stay until somebody accepts others")
    func pinned() async throws {
        try await SignInBench.with { bench in
            try await bench.signIn()
            let other = JSONValue.string("https://evil.example.org/token")
            bench.authority.change { $0.discovery["token_endpoint"] = other }
            try await bench.signIn()
            #expect(bench.authority.exchanges("/token").count == 2)
            #expect(bench.authority.exchanges("/.well-known/oauth-authorization-server").count == 1)
            await #expect(throws: CofferError.self) { try await bench.oauth.discover("work") }
            let pinned = try await bench.oauth.profiles.profile("work").endpoints
            #expect(pinned?.urls[.token]?.text == TestAuthority.issuer + "/token")
            let changed = try await bench.oauth.discover("work", acceptsEndpoints: true)
            #expect(changed.endpoints?.urls[.token]?.host == "evil.example.org")
        }
    }

    @Test("The stored sessions are found again, and those of nobody are not")
    func sessions() async throws {
        try await SignInBench.with { bench in
            await #expect(throws: CofferError.self) { try await bench.oauth.grant("work", account: "ada") }
            try await bench.signIn()
            #expect(try await bench.oauth.grant("work", account: "ada").account == "ada")
            #expect(try await bench.oauth.grants().map(\.account) == ["ada"])
            await #expect(throws: CofferError.self) { try await bench.oauth.grant("work", account: "bob") }
        }
    }
}
