import CofferBase
import CofferCrypto
import CofferEngine
import CofferOAuth
import CofferTesting
import Testing

@Suite("Proxies")
struct ProxyTests {
    @Test(
        "A proxy gets the user name and the password byte for byte, and the server none of them",
        .enabled(if: CurlTransport.libraryVersion != nil),
        .enabled("python3 or openssl is not installed") { await ScriptedServer.isPossible() })
    func credentials() async throws {
        try await ScriptedServer.with { server in
            try await server.answer("/x", .response(body: "{}"))
            let (user, password) = ("us%3Aer +\u{E9}", "p%41:w%00%0A &+/\u{E9}")
            var security = server.security
            security.proxy = .server(
                TransportProxy.Server(
                    host: "127.0.0.1", port: server.proxyPort, user: user,
                    password: try SecretBytes.copying(password)))
            let url = try HTTPSURL("https://other.example/x")
            let request = HTTPRequest(method: .get, url: url, security: security)
            #expect(try await CurlTransport().exchange(request).isComplete)
            let requests = try await server.requests()
            #expect(requests.map(\.method) == ["CONNECT", "GET"])
            let connect = try #require(requests.first)
            #expect(connect.target == "other.example:443" && connect.tlsVersion.isEmpty)
            let text = try Encoding.base64Text(Array((user + ":" + password).utf8))
            let expected = "Basic " + String(decoding: text, as: UTF8.self)
            #expect(connect.values(of: "Proxy-Authorization") == [expected])
            #expect(requests.last?.values(of: "Proxy-Authorization").isEmpty == true)
        }
    }

    @Test(
        "Control characters in a proxy's password or user name are refused before anything is sent",
        arguments: [("ada", "a\nb"), ("ada", "a\0b"), ("ada", "\u{7F}"), ("a\rb", "p"), ("a\u{7F}", "p")])
    func controlCharacters(_ user: String, _ password: String) async throws {
        let proxy = TransportProxy.Server(
            host: "127.0.0.1", port: 1, user: user, password: try SecretBytes.copying(password))
        let request = HTTPRequest(
            method: .get, url: try HTTPSURL("https://other.example/"),
            security: TransportSecurity(proxy: .server(proxy)))
        var code: CofferError.Code?
        do throws(CofferError) { _ = try await CurlTransport().exchange(request) } catch { code = error.code }
        #expect(code == .invalidInput)
    }
}
