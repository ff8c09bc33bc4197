@testable import CofferOAuth
import CofferBase
import CofferCrypto
import Synchronization
import Testing
import TestSupport

/// A document of a server, with changes.
enum SampleDocument {
    static let issuer = "https://login.example.org"

    static func text(_ more: String = "", issuer: String = issuer) -> String {
        """
        {"issuer":"\(issuer)","authorization_endpoint":"https://login.example.org/authorize",\
        "token_endpoint":"https://token.example.net/token","unknown":{"a":[1]}\(more)}
        """
    }
}

@Suite("Discovery documents")
struct ServerMetadataTests {
    private func code(_ text: String) -> CofferError.Code? {
        failure {
            _ = try ServerMetadata(parsing: Array(text.utf8), issuer: HTTPSURL(SampleDocument.issuer))
        }
    }

    @Test(
        "Another issuer is refused, even if it means the same server",
        arguments: [
            "https://login.example.org/", "https://login.example.org:443", "https://evil.example.org", "",
            "http://login.example.org", "https://login.example.org#x", "https://LOGIN.example.org",
        ])
    func issuer(_ issuer: String) {
        #expect(code(SampleDocument.text(issuer: issuer)) == .issuerMismatch)
    }

    @Test(
        "An endpoint that is not https, has a fragment or is no text is refused",
        arguments: [
            #","revocation_endpoint":"http://login.example.org/revoke""#,
            #","jwks_uri":"https://login.example.org/keys#a""#, #","userinfo_endpoint":7"#,
            #","introspection_endpoint":null"#, #","end_session_endpoint":"https://u@login.example.org""#,
            #","pushed_authorization_request_endpoint":"https://login.example.org/../par""#,
            #","device_authorization_endpoint":"//login.example.org""#,
            #","mtls_endpoint_aliases":{"token_endpoint":"http://a.org"}"#, #","mtls_endpoint_aliases":[]"#,
            #","token_endpoint":"https://other.example.org""#, #","issuer":"https://login.example.org""#,
            #","unknown":1"#, #","code_challenge_methods_supported":["plain"]"#,
            #","code_challenge_methods_supported":"S256""#, #","scopes_supported":[1]"#,
            #","require_pushed_authorization_requests":"true""#,
            #","authorization_response_iss_parameter_supported":1"#,
        ])
    func endpoints(_ more: String) {
        #expect(code(SampleDocument.text(more)) == .serverMalformed, "\(more)")
    }

    @Test("A document that is not one, is too large or nested too deep is refused")
    func documents() {
        let deep = #","x":"# + String(repeating: "[", count: 16) + String(repeating: "]", count: 16)
        let large = #","x":""# + String(repeating: "a", count: ServerMetadata.maxByteCount) + "\""
        let texts = [
            "", "<html>", "[]", "null", "{}", SampleDocument.text() + "x", SampleDocument.text(deep),
            SampleDocument.text(large), #"{"issuer":"https://login.example.org"}"#,
            #"{"issuer":"https://login.example.org","token_endpoint":"https://a.org"}"#,
            #"{"issuer":7,"token_endpoint":"https://a.org"}"#,
        ]
        for text in texts { #expect(code(text) == .serverMalformed, "\(text.prefix(80))") }
    }

    @Test("Everything that a server announces")
    func whole() throws {
        let more = #"""
            ,"revocation_endpoint":"https://login.example.org/revoke","scopes_supported":["api","id"],\#
            "mtls_endpoint_aliases":{"token_endpoint":"https://mtls.example.org/token","x":1},\#
            "code_challenge_methods_supported":["plain","S256"],"grant_types_supported":["refresh_token"],\#
            "token_endpoint_auth_methods_supported":["none"],"dpop_signing_alg_values_supported":["ES256"],\#
            "id_token_signing_alg_values_supported":["RS256"],\#
            "authorization_response_iss_parameter_supported":true,\#
            "require_pushed_authorization_requests":true
            """#
        let metadata = try ServerMetadata(
            parsing: Array(SampleDocument.text(more).utf8), issuer: HTTPSURL(SampleDocument.issuer))
        #expect(metadata.endpoints.urls.count == 3)
        #expect(metadata.endpoints.urls[.token]?.text == "https://token.example.net/token")
        #expect(metadata.endpoints.mutualTLSAliases[.token]?.host == "mtls.example.org")
        #expect(metadata.endpoints.requiresIssuerInRedirect && metadata.endpoints.requiresPushedAuthorization)
        #expect(metadata.endpoints.offersKeyProof)
        #expect(metadata.scopes == ["api", "id"] && metadata.challengeMethods == ["plain", "S256"])
        #expect(metadata.authenticationMethods == ["none"] && metadata.grantTypes == ["refresh_token"])
        #expect(metadata.idTokenAlgorithms == ["RS256"] && metadata.keyProofAlgorithms == ["ES256"])
    }

    @Test("The issuer's path stands behind the well-known path, or before that of OpenID Connect")
    func locations() throws {
        let cases = [
            ("https://a.org", "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"),
            (
                "https://a.org:8443/", "/.well-known/oauth-authorization-server",
                "/.well-known/openid-configuration"
            ),
            (
                "https://a.org/t/1/", "/.well-known/oauth-authorization-server/t/1",
                "/t/1/.well-known/openid-configuration"
            ),
        ]
        for (issuer, first, second) in cases {
            let url = try HTTPSURL(issuer)
            let found = try ServerMetadata.locations(of: url)
            #expect(found.map(\.path) == [first, second] && found.allSatisfy { $0.origin == url.origin })
        }
        #expect(
            failure { _ = try ServerMetadata.locations(of: HTTPSURL("https://a.org?x")) } == .invalidInput)
    }

    @Test("A profile keeps the endpoints that its server does not announce")
    func adopting() throws {
        var profile = try SampleProfile.plain()
        let revocation = try HTTPSURL("https://login.example.org/revoke")
        profile.endpoints = PinnedEndpoints([.revocation: revocation])
        let metadata = try ServerMetadata(
            parsing: Array(SampleDocument.text().utf8), issuer: HTTPSURL(SampleDocument.issuer))
        try profile.adopt(metadata)
        #expect(profile.endpoints?.urls.count == 3 && profile.endpoints?.urls[.revocation] == revocation)
        var other = try SampleProfile.full()
        #expect(failure { try other.adopt(metadata) } == .issuerMismatch)
    }
}

@Suite("Discovery")
struct DiscoveryTests {
    /// Answers requests by their paths, and remembers them.
    private final class Script: OAuthTransport {
        struct Answer: Sendable {
            var status = 200
            var type: String? = "application/json"
            var body = ""
            var isComplete = true
        }

        private let answers: [String: Answer]
        private let asked = Mutex<[String]>([])

        init(_ answers: [String: Answer]) { self.answers = answers }

        var paths: [String] { asked.withLock { $0 } }

        func exchange(_ request: HTTPRequest) async throws(CofferError) -> HTTPResponse {
            asked.withLock { $0.append(request.url.path) }
            let answer = answers[request.url.path] ?? Answer(status: 404)
            var headers: [(name: String, value: String)] = []
            if let type = answer.type { headers.append((name: "content-type", value: type)) }
            return HTTPResponse(
                status: answer.status, headers: headers, body: try SecretBytes.copying(answer.body),
                isComplete: answer.isComplete)
        }
    }

    private static let first = "/.well-known/oauth-authorization-server"
    private static let second = "/.well-known/openid-configuration"

    private func code(_ answer: Script.Answer) async throws -> CofferError.Code? {
        let issuer = try HTTPSURL(SampleDocument.issuer)
        do throws(CofferError) {
            _ = try await Discovery(Script([Self.first: answer])).metadata(of: issuer)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("Redirects, failures, cut answers and other issuers end the discovery, each with its code")
    func refused() async throws {
        let text = SampleDocument.text()
        #expect(try await code(.init(status: 302)) == .redirectRefused)
        #expect(try await code(.init(status: 500)) == .serverUnreachable)
        for status in [408, 425, 429] {
            #expect(try await code(.init(status: status)) == .serverUnreachable)
        }
        #expect(try await code(.init(body: text, isComplete: false)) == nil)
        for piece in ["", "{", String(text.dropLast())] {
            #expect(try await code(.init(body: piece, isComplete: false)) == .serverUnreachable)
        }
        #expect(try await code(.init(body: "{")) == .serverMalformed)
        #expect(try await code(.init(body: SampleDocument.text(issuer: "https://a.org"))) == .issuerMismatch)
        #expect(try await code(.init(status: 404)) == .absent)
        #expect(try await code(.init(type: "text/html", body: "<html>")) == .absent)
        #expect(
            try await code(.init(type: "text/html", body: "<html>", isComplete: false)) == .absent)
    }

    @Test("The second location is asked only if the first has no document")
    func order() async throws {
        let issuer = try HTTPSURL(SampleDocument.issuer)
        let document = Script.Answer(body: SampleDocument.text())
        let both = Script([Self.first: document, Self.second: document])
        #expect(try await Discovery(both).metadata(of: issuer).issuer == issuer)
        #expect(both.paths == [Self.first])
        let page = Script.Answer(type: "text/html; charset=utf-8", body: "<html>")
        let later = Script([Self.first: page, Self.second: document])
        #expect(try await Discovery(later).metadata(of: issuer).issuer == issuer)
        #expect(later.paths == [Self.first, Self.second])
    }

    @Test(
        "Media types of JSON",
        arguments: [
            ("application/json", true), ("Application/JSON; charset=utf-8", true), (nil, true),
            ("application/jwk-set+json", true), ("text/json", false), ("text/html", false), ("", false),
            ("application/jsonp", false),
        ] as [(String?, Bool)])
    func types(_ type: String?, _ isJSON: Bool) {
        #expect(Discovery.isJSON(type) == isJSON)
    }
}
