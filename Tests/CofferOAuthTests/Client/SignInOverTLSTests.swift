@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import Testing

@Suite("Signing in over TLS")
struct SignInOverTLSTests {
    @Test(
        "A client with a certificate signs in at a server with a private authority",
        .enabled(if: CurlTransport.libraryVersion != nil),
        .enabled("python3 or openssl is not installed") { await ScriptedServer.isPossible() })
    func mutualTLS() async throws {
        try await ScriptedServer.with { server in
            let tokens = #"{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":60}"#
            try await server.answer("/token", .json(tokens))
            try await server.answer("/me", .json("{}"))
            try await TemporaryVault.with { temporary in
                let oauth = try await OAuth(temporary.vault, clock: temporary.clock.source)
                try await add(server, to: oauth)
                let log = SignInBench.Log()
                let way = SignInWay.pastedRedirect { () async throws(CofferError) -> Token in
                    var fields: [String: String] = [:]
                    for (name, value) in try FormEncoding.decode(log.url?.query ?? "") {
                        fields[name] = value
                    }
                    let state = FormEncoding.encode(fields["state"] ?? "")
                    return try Token(copying: (fields["redirect_uri"] ?? "") + "?code=c&state=" + state)
                }
                let grant = try await oauth.signIn("work", account: "ada", by: way) { log.note($0) }
                let requests = try await server.requests("/token")
                let request = try #require(requests.first)
                #expect(request.clientName == "coffer client" && request.method == "POST")
                #expect(request.values(of: "Cache-Control") == ["no-store"])
                #expect(request.values(of: "Authorization").isEmpty)
                #expect(try await grant.send(OAuthRequest(.get, server.url("/me"))).status == 200)
                #expect(try await server.requests("/me").first?.values(of: "Authorization") == ["Bearer a"])
            }
        }
    }

    private func add(_ server: ScriptedServer, to oauth: OAuth) async throws {
        let token = try server.url("/token")
        var profile = try OAuthProfile(
            "work", issuer: token.origin, clientID: "desktop", scopes: ["api"], authentication: .mutualTLS,
            resourceHosts: ["127.0.0.1:\(token.port)"])
        profile.endpoints = PinnedEndpoints([
            .authorization: try server.url("/authorize"), .token: token,
        ])
        guard case .certificates(let authorities) = server.security.trust else {
            Issue.record("The server has no authority.")
            return
        }
        profile.trust = ServerTrust(authorities: String(decoding: authorities, as: UTF8.self))
        try await oauth.add(profile)
        let certificate = try server.clientCertificate()
        try await oauth.profiles.set(Token(copying: certificate.chain), as: .certificate, of: "work")
        try await oauth.profiles.set(try Token(certificate.key.copy()), as: .key, of: "work")
    }
}
