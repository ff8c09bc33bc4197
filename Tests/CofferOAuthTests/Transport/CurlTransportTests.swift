import CofferBase
import CofferCrypto
import CofferEngine
import CofferOAuth
import CofferTesting
import TestSupport
import Testing

@Suite("The transport over libcurl")
struct CurlTransportTests {
    static let isBuilt = CurlTransport.libraryVersion != nil

    @Test(
        "It keeps every law of transports", .enabled(if: isBuilt),
        .enabled("python3 or openssl is not installed") { await ScriptedServer.isPossible() },
        arguments: OAuthTransportContract.laws)
    func laws(_ law: OAuthTransportContract) async throws {
        try await ScriptedServer.with { try await law.check(CurlTransport(), on: $0) }
    }

    @Test("libcurl's buffers are on the heap that clears them", .enabled(if: isBuilt))
    func heap() { #expect(CurlTransport.isMemoryCleared) }

    @Test("A build without the trait refuses every exchange", .enabled(if: !isBuilt))
    func stub() async throws {
        let request = HTTPRequest(method: .get, url: try HTTPSURL("https://127.0.0.1:1/"))
        #expect(await code(of: request) == .unsupported)
    }

    @Test("A port on which nobody listens is an unreachable server", .enabled(if: isBuilt))
    func nobody() async throws {
        let request = HTTPRequest(method: .get, url: try HTTPSURL("https://127.0.0.1:1/"))
        #expect(await code(of: request) == .serverUnreachable)
    }

    @Test(
        "Fields that would change the message are refused before anything is sent",
        arguments: [
            ("Host", "a"), ("content-length", "1"), ("Transfer-Encoding", "chunked"), ("Cookie", "a=b"),
            ("X-A", "a\r\nX-B: c"), ("X-A", "a\nb"), ("X-A", "\0"), ("X-A", ""), ("X-A", " a"),
            ("X-A", "ä"), ("X A", "a"), ("X-A:", "a"), ("", "a"), ("X-Ä", "a"),
        ])
    func fields(_ name: String, _ value: String) async throws {
        let field = try HTTPField(name: name, value: value)
        let request = HTTPRequest(
            method: .get, url: try HTTPSURL("https://127.0.0.1:1/"), headers: [field])
        #expect(await code(of: request) == .invalidInput)
    }

    @Test("Bodies of GET, wrong pins, limits and proxies are refused before anything is sent")
    func requests() async throws {
        let url = try HTTPSURL("https://127.0.0.1:1/")
        let body = HTTPRequest(method: .get, url: url, body: try SecretBytes.copying("a"))
        #expect(await code(of: body) == .invalidInput)
        for security in [
            TransportSecurity(pins: [[1]]), TransportSecurity(trust: .certificates([])),
            TransportSecurity(proxy: .server(.init(host: "a b", port: 1))),
            TransportSecurity(proxy: .server(.init(host: "a", port: 0))),
        ] {
            #expect(await code(of: HTTPRequest(method: .get, url: url, security: security)) == .invalidInput)
        }
        let limits = HTTPLimits(body: -1)
        #expect(await code(of: HTTPRequest(method: .get, url: url, limits: limits)) == .invalidInput)
    }

    @Test(
        "Certificates and keys that are none are invalid input", .enabled(if: isBuilt),
        .enabled("python3 or openssl is not installed") { await ScriptedServer.isPossible() })
    func certificates() async throws {
        try await ScriptedServer.with { server in
            var security = server.security
            security.clientCertificate = .init(
                chain: Array("none".utf8), key: try SecretBytes.copying("none"))
            let url = try server.url("/")
            #expect(await code(of: HTTPRequest(method: .get, url: url, security: security)) == .invalidInput)
            let none = TransportSecurity(trust: .certificates(Array("none".utf8)))
            #expect(await code(of: HTTPRequest(method: .get, url: url, security: none)) == .invalidInput)
            #expect(try await server.requests().isEmpty)
        }
    }

    @Test("Printing a request and a response shows no secret")
    func descriptions() throws {
        let field = try HTTPField(name: "Authorization", value: "Bearer s3cret")
        let request = HTTPRequest(
            method: .post, url: try HTTPSURL("https://example.org/"), headers: [field],
            body: try SecretBytes.copying("s3cret"))
        let response = HTTPResponse(status: 200, headers: [], body: try SecretBytes.copying("s3cret"))
        var text = "\(request) \(response) \(field)"
        dump(request, to: &text)
        dump(response, to: &text)
        #expect(!text.contains("s3cret"))
    }

    private func code(of request: HTTPRequest) async -> CofferError.Code? {
        do throws(CofferError) {
            _ = try await CurlTransport().exchange(request)
            return nil
        } catch {
            return error.code
        }
    }
}
