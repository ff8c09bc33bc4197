@testable import CofferOAuth
import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("Requests for authorization and their answers")
struct AuthorizationTests {
    private func endpoint(_ text: String = "https://login.example.org/authorize") throws -> HTTPSURL {
        try HTTPSURL(text)
    }

    private func fields(_ url: HTTPSURL) throws -> [String: String] {
        let fields = try FormEncoding.decode(url.query ?? "").map { ($0.name, $0.value) }
        return Dictionary(fields) { _, _ in "twice" }
    }

    @Test("Parameters that replace our own, repeat or are invalid are refused")
    func extraParameters() {
        for name in ["state", "code_challenge_method", "redirect_uri", "response_type", "request_uri"] {
            #expect(failure { _ = try SignInSamples.request(extra: [(name, "x")]) } == .invalidInput)
        }
        let bad: [[(name: String, value: String)]] = [
            [("a", "1"), ("a", "2")], [("", "1")], [("a b", "1")], [("a", "\n")],
        ]
        for extra in bad {
            #expect(failure { _ = try SignInSamples.request(extra: extra) } == .invalidInput)
        }
        #expect(failure { _ = try SignInSamples.request(redirectURI: "https://a/#b") } == .invalidInput)
        #expect(failure { _ = try SignInSamples.request(scopes: ["a b"]) } == .invalidInput)
    }

    @Test("The endpoint's own query must not contain our parameters")
    func endpointQuery() throws {
        let request = try SignInSamples.request()
        let bad = try endpoint("https://login.example.org/authorize?%73tate=1")
        #expect(failure { _ = try request.url(endpoint: bad) } == .invalidInput)
        let good = try request.url(endpoint: try endpoint("https://login.example.org/authorize?tenant=1"))
        #expect(try fields(good)["tenant"] == "1")
    }

    @Test("The URL contains the challenge, state and what the profile asks for")
    func url() throws {
        let request = try SignInSamples.request(
            scopes: ["openid", "api"], resources: [try HTTPSURL("https://api.example.org/")],
            extra: [("prompt", "login")])
        let fields = try fields(try request.url(endpoint: try endpoint()))
        let digest = try Digest.sha256.hash(Array(SignInSamples.text(request.proofKey.verifier).utf8).span)
        let challenge = try Base64URL.encode(digest)
        #expect(
            fields == [
                "response_type": "code", "client_id": "client",
                "redirect_uri": "http://127.0.0.1:8400/callback", "scope": "openid api",
                "resource": "https://api.example.org/", "prompt": "login",
                "state": SignInSamples.text(request.state), "nonce": SignInSamples.text(request.nonce),
                "code_challenge": challenge,
                "code_challenge_method": "S256",
            ])
        #expect(SignInSamples.text(request.state).utf8.count == 43)
        #expect(SignInSamples.text(request.proofKey.verifier).utf8.count == 43)
        let other = try SignInSamples.request()
        #expect(SignInSamples.text(other.state) != SignInSamples.text(request.state))
        #expect(try self.fields(try other.url(endpoint: try endpoint()))["nonce"] == nil)
    }

    @Test("The pushed body has the same parameters, and the URL after it only a reference")
    func pushed() throws {
        let request = try SignInSamples.request(scopes: ["openid"])
        let body = try request.pushedBody().finish()
        let pushed = try FormEncoding.decode(SignInSamples.text(body)).map { $0.name }.sorted()
        let plain = try fields(try request.url(endpoint: try endpoint())).keys.sorted()
        #expect(pushed == plain)
        let url = try request.url(endpoint: try endpoint(), requestURI: "urn:a")
        #expect(try fields(url) == ["client_id": "client", "request_uri": "urn:a"])
        #expect(
            failure { _ = try request.url(endpoint: try endpoint(), requestURI: "a b") } == .serverMalformed)
    }

    @Test("The issuer is compared byte for byte wherever it is, and required where it is announced")
    func issuers() throws {
        let request = try SignInSamples.request()
        let strict = try SignInSamples.request(requiresIssuer: true)
        let query = { (request: AuthorizationRequest) in
            "code=a&state=" + SignInSamples.text(request.state)
        }
        for issuer in ["https://login.example.org/", "https://LOGIN.example.org", "", "x"] {
            #expect(
                failure { _ = try SignInSamples.check(query(request) + "&iss=" + issuer, for: request) }
                    == .issuerMismatch)
        }
        #expect(failure { _ = try SignInSamples.check(query(strict), for: strict) } == .issuerMismatch)
        #expect(failure { _ = try SignInSamples.check(query(strict), for: request) } == .stateMismatch)
        let redirect = try SignInSamples.check(
            query(strict) + "&iss=https%3A%2F%2Flogin.example.org", for: strict)
        #expect(redirect.issuer == SignInSamples.issuer)
        #expect(try SignInSamples.check(query(request), for: request).issuer == nil)
    }

    @Test("The server's words are reduced to printable characters")
    func words() throws {
        let request = try SignInSamples.request()
        let state = "&state=" + SignInSamples.text(request.state)
        let redirect = try SignInSamples.check(
            "error=a%1B%5B2Jb&error_description=No%0A%C3%BC" + String(repeating: "x", count: 99) + state,
            for: request)
        #expect(redirect.refusal?.code == "a[2Jb")
        #expect(redirect.refusal?.description == "No" + String(repeating: "x", count: 62))
    }

    @Test("A pasted text that is not the redirect is refused")
    func pastedRefusals() throws {
        let request = try SignInSamples.request()
        let query = "code=a&state=" + SignInSamples.text(request.state)
        let cases: [(String, CofferError.Code)] = [
            ("4/0AX4XfWh", .invalidInput), ("", .invalidInput),
            ("http://127.0.0.1:8400/callback", .invalidInput),
            ("http://127.0.0.1:8401/callback?" + query, .redirectRefused),
            ("http://127.0.0.1:8400/Callback?" + query, .redirectRefused),
            ("https://evil.example/callback?" + query, .redirectRefused),
            ("http://127.0.0.1:8400/callback?" + query + "#a", .redirectRefused),
            ("http://127.0.0.1:8400/callback?" + query + " x", .redirectRefused),
            ("code=a&state=x", .stateMismatch), (query + "&code=b", .redirectRefused),
            (query + String(repeating: "x", count: 8192), .invalidInput),
        ]
        for (text, code) in cases {
            let secret = try SecretBytes.copying(text)
            #expect(failure { _ = try PastedRedirect.parse(secret, for: request) } == code, "\(text)")
        }
    }

    @Test("The whole address or its query is accepted, until the request is too old")
    func pasted() throws {
        let request = try SignInSamples.request(now: .zero)
        let query = "code=a%20b&state=" + SignInSamples.text(request.state)
        for text in [query, "?" + query, " http://127.0.0.1:8400/callback?" + query + "\r\n"] {
            let secret = try SecretBytes.copying(text)
            let redirect = try PastedRedirect.parse(secret, for: request, now: .seconds(599))
            let code = SignInSamples.text(try redirect.code())
            #expect(code == "a b")
            #expect(
                failure { _ = try PastedRedirect.parse(secret, for: request, now: .seconds(600)) }
                    == .timedOut)
        }
    }

    @Test("Tokens in a fragment are refused unless the caller accepts the weak flow")
    func fragments() throws {
        let request = try SignInSamples.request()
        let state = "&state=" + SignInSamples.text(request.state)
        let good = "access_token=a&token_type=Bearer&expires_in=7200&scope=api+id" + state
        let text = try SecretBytes.copying("http://127.0.0.1:8400/callback#" + good)
        #expect(failure { _ = try UserAgentRedirect.parse(text, for: request) } == .refused)
        let redirect = try UserAgentRedirect.parse(text, for: request, consent: .acceptsWeakFlow)
        #expect(SignInSamples.text(redirect.accessToken) == "a")
        #expect(redirect.expiresIn == 7200 && redirect.scope == "api id")
        let cases: [(String, CofferError.Code)] = [
            ("access_token=a&token_type=Bearer&state=x", .stateMismatch),
            ("access_token=a%0A&token_type=Bearer" + state, .redirectRefused),
            ("access_token=a&token_type=mac" + state, .redirectRefused),
            ("access_token=a&code=b&token_type=Bearer" + state, .redirectRefused),
            ("access_token=a&token_type=Bearer&expires_in=-1" + state, .redirectRefused),
            ("access_token=a&token_type=Bearer&instance_url=http%3A%2F%2Fa.example" + state, .invalidInput),
            ("error=access_denied" + state, .serverRefused),
        ]
        for (bad, code) in cases {
            let text = try SecretBytes.copying(bad)
            #expect(
                failure { _ = try UserAgentRedirect.parse(text, for: request, consent: .acceptsWeakFlow) }
                    == code, "\(bad)")
        }
    }
}
