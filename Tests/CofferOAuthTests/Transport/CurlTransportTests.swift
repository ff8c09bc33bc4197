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
        var endless = HTTPLimits()
        endless.connect = .seconds(86_401)
        for limits in [HTTPLimits(body: -1), endless] {
            #expect(await code(of: HTTPRequest(method: .get, url: url, limits: limits)) == .invalidInput)
        }
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
            // A key, but not that of the certificate: PKCS #8 with a new number for P-256.
            security.clientCertificate = .init(
                chain: try server.clientCertificate().chain, key: try Self.strangeKey())
            #expect(await code(of: HTTPRequest(method: .get, url: url, security: security)) == .invalidInput)
            #expect(try await server.requests().isEmpty)
        }
    }

    @Test(
        "A refused certificate is said to be for another host, too old, too new, self-signed, or unsigned",
        .enabled(if: isBuilt),
        .enabled("python3 or openssl is not installed") { await ScriptedServer.isPossible() })
    func reasons() async throws {
        try await ScriptedServer.with { server in
            for (certificate, reason, remedy) in [
                (ScriptedServer.Certificate.otherHost, "is not for this host", CofferError.Remedy?.none),
                (.expired, "has expired", nil), (.early, "is not valid yet. Check the clock", nil),
                (.stranger, "from an unknown authority", .trustAuthority),
                (.selfSigned, "is self-signed", .trustAuthority),
                (.forged, "is not signed by the authority that it names", .trustAuthority),
            ] {
                let request = HTTPRequest(
                    method: .get, url: try server.url("/", certificate: certificate),
                    security: server.security)
                let error = try #require(await failure(of: request))
                #expect(error.code == .certificateRefused && error.remedy == remedy, "\(certificate)")
                #expect(error.message.contains(reason), "\(error.message)")
            }
            let security = TransportSecurity(
                trust: server.security.trust, pins: [Array(repeating: 7, count: 32)])
            let request = HTTPRequest(method: .get, url: try server.url("/"), security: security)
            let error = try #require(await failure(of: request))
            #expect(error.code == .certificateRefused && error.message.contains("pinned"), "\(error)")
        }
    }

    private static func strangeKey() throws -> SecretBytes {
        let start: [UInt8] = [
            0x30, 0x41, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01,
            0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x04, 0x27, 0x30, 0x25, 0x02, 0x01,
            0x01, 0x04, 0x20,
        ]
        let number = try ECDSAP256.generate().exposing { $0.copied() }
        return try SecretBytes.copying((start + number).span)
    }

    @Test(
        "A client certificate with an RSA key is shown", .enabled(if: isBuilt),
        .enabled("python3 or openssl is not installed") { await ScriptedServer.isPossible() })
    func rsaCertificate() async throws {
        try await ScriptedServer.with { server in
            try await server.answer("/", .response(body: "{}"))
            var security = server.security
            security.clientCertificate = try await server.rsaClientCertificate()
            let request = HTTPRequest(method: .get, url: try server.url("/"), security: security)
            #expect(try await CurlTransport().exchange(request).status == 200)
            #expect(try await server.requests().map(\.clientName) == ["coffer client-rsa"])
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
        await failure(of: request)?.code
    }

    private func failure(of request: HTTPRequest) async -> CofferError? {
        do throws(CofferError) {
            _ = try await CurlTransport().exchange(request)
            return nil
        } catch {
            return error
        }
    }
}
