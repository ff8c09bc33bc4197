@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import Testing
import TestSupport

/// The state and the end of sessions at real servers, and the servers' peculiar answers.
extension ServersTests {
    private func isActive(_ token: String, _ server: RealServer) async throws -> Bool {
        let client = server.clients.first { $0.secret != nil }
        let answer = try await server.post(.introspection, [(name: "token", value: token)], as: client)
        return try IntrospectionResponse(answer).isActive
    }

    @Test("A session is active until it is signed out and revoked", arguments: RealServer.Kind.allCases)
    func leave(kind: RealServer.Kind) async throws {
        try await ServerBench.with(kind, client: "server") { bench in
            let grant = try await bench.signIn()
            let state = try await grant.introspect()
            #expect(state.isActive && state.clientID == "server")
            #expect(state.username == bench.server.userName)
            let access = try await grant.withAccessToken(for: bench.server.resource()) {
                (token: Token, _: TokenInfo) async throws(CofferError) -> String in text(token) ?? ""
            }
            let refresh = try await bench.refreshToken()
            #expect(try await isActive(access, bench.server))
            let receipt = try await grant.logOut(LogoutOptions(stores: .keep, endSession: true))
            #expect(receipt.refreshToken == .revoked && receipt.accessToken == .revoked)
            #expect(receipt.isRevokedAtServer && receipt.endSessionURL != nil)
            #expect(try await !isActive(access, bench.server))
            let fields = [
                (name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: refresh),
            ]
            let client = bench.server.clients.first { $0.secret != nil }
            #expect(try await bench.server.post(.token, fields, as: client).status >= 400)
            #expect(
                await refusalCode { _ = try await bench.oauth.grant("work", account: "ada") }
                    == .signInNeeded)
        }
    }

    @Test("A public client whose server does not let it revoke is signed out here")
    func refusedRevocation() async throws {
        try await ServerBench.with(.glewlwyd) { bench in
            let grant = try await bench.signIn()
            let receipt = try await grant.logOut(LogoutOptions(stores: .keep))
            #expect(!receipt.isRevokedAtServer)
            #expect(
                await refusalCode { _ = try await bench.oauth.grant("work", account: "ada") }
                    == .signInNeeded)
        }
    }

    @Test("Django's answers have no length and no closing message, and are whole")
    func unframed() async throws {
        try await ServerBench.with(.django) { bench in
            let fields = [(name: "grant_type", value: "refresh_token"), (name: "client_id", value: "native")]
            let answer = try await bench.server.post(.token, fields)
            #expect(try answer.header("content-length") == nil)
            #expect(answer.isWhole && answer.status == 400)
            #expect(try answer.json() != nil)
        }
    }

    @Test("Django's bare 403 leads to a renewal if the profile says so")
    func bareForbidden() async throws {
        // The client's time stands still, so that it does not see that the access token has ended.
        try await ServerBench.with(.django, .init(life: 3), isFrozen: true) { bench in
            let grant = try await bench.signIn()
            let hasEnded = await eventually { (try? await bench.status(grant)) == 403 }
            #expect(hasEnded)
            #expect(try await bench.server.renewals().isEmpty)
            var profile = try await bench.oauth.profiles.profile("work")
            profile.quirks.renewsOnBareForbidden = true
            try await bench.oauth.profiles.update(profile)
            #expect(try await bench.status(grant) == 200)
            #expect(try await bench.server.renewals().map(\.status) == [200])
        }
    }
}
