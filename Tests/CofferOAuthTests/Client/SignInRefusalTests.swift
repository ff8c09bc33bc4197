@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import Testing

@Suite("Answers to a sign-in that are refused")
struct SignInRefusalTests {
    /// A fault in the redirect.
    enum RedirectFault: String, CaseIterable {
        case state, noState, issuer, refusal, noCode

        var parameters: [String: String] {
            switch self {
            case .state: ["state": "another"]
            case .noState: ["state": ""]
            case .issuer: ["iss": "https://evil.example.org"]
            case .refusal: ["code": "", "error": "access_denied"]
            case .noCode: ["code": ""]
            }
        }

        var code: CofferError.Code {
            switch self {
            case .state, .noState: .stateMismatch
            case .issuer: .issuerMismatch
            case .refusal: .serverRefused
            case .noCode: .redirectRefused
            }
        }
    }

    @Test("A redirect that is not one to this sign-in redeems nothing", arguments: RedirectFault.allCases)
    func redirect(_ fault: RedirectFault) async throws {
        try await SignInBench.with { (bench) async throws in
            bench.authority.change { $0.redirect = fault.parameters }
            let error = await bench.failure()
            #expect(error?.code == fault.code)
            #expect(bench.authority.exchanges("/token").isEmpty)
            #expect(try await !bench.hasSession())
        }
    }

    @Test("A refusal of parameters sent ahead, without a reason, names what the server may not know")
    func pushed() async throws {
        try await SignInBench.with(.post) { (bench) async throws in
            bench.authority.change { settings in
                let url = JSONValue.string(TestAuthority.issuer + "/par")
                settings.discovery["pushed_authorization_request_endpoint"] = url
                settings.pushedRefusal = 403
            }
            let error = await bench.failure()
            #expect(error?.code == .serverRefused)
            let message = error?.message ?? ""
            for part in ["HTTP status 403", "the client desk:top", "the redirect URI http"] {
                #expect(message.contains(part), "\(message)")
            }
            #expect(try await !bench.hasSession())
        }
    }

    @Test("The listener refuses another server's answer, too")
    func listener() async throws {
        try await SignInBench.with { (bench) async throws in
            bench.authority.change { $0.redirect = RedirectFault.issuer.parameters }
            #expect(await bench.failure(by: .browser)?.code == .issuerMismatch)
            #expect(bench.authority.exchanges("/token").isEmpty)
        }
    }

    @Test("An issuer that the server announces must be in the answer")
    func announcedIssuer() async throws {
        try await SignInBench.with { (bench) async throws in
            let member = "authorization_response_iss_parameter_supported"
            bench.authority.change { $0.discovery[member] = true }
            #expect(await bench.failure()?.code == .issuerMismatch)
            bench.authority.change { $0.redirect = ["iss": TestAuthority.issuer] }
            #expect(await bench.failure() == nil)
        }
    }

    /// A fault in the answer with tokens.
    enum TokenFault: String, CaseIterable {
        case noIDToken, otherIssuer, noNonce, otherNonce, otherAudience, audiences, party, expired, future
        case noSubject, accessTokenHash, malformed, unsigned, unknownKey, unknownType, noAccessToken, bound
        case otherHost, plainHost

        func apply(_ settings: inout TestAuthority.Settings) {
            switch self {
            case .noIDToken: settings.members = ["id_token": .null]
            case .otherIssuer: settings.claims = ["iss": "https://login.example.org/"]
            case .noNonce: settings.claims = ["nonce": .null]
            case .otherNonce: settings.claims = ["nonce": "another"]
            case .otherAudience: settings.claims = ["aud": "another"]
            case .audiences: settings.claims = ["aud": [.string(TestAuthority.clientID), "another"]]
            case .party: settings.claims = ["azp": "another"]
            case .expired: settings.claims = ["exp": 1_700_000_000]
            case .future: settings.claims = ["iat": 1_900_000_000]
            case .noSubject: settings.claims = ["sub": .null]
            case .accessTokenHash: settings.claims = ["at_hash": "AAAAAAAAAAAAAAAAAAAAAA"]
            case .malformed: settings.members = ["id_token": "a.b"]
            // {"alg":"none"} and {}
            case .unsigned: settings.members = ["id_token": "eyJhbGciOiJub25lIn0.e30.AA"]
            case .unknownKey: break
            case .unknownType: settings.members = ["token_type": "mac"]
            case .noAccessToken: settings.members = ["access_token": .null]
            case .bound: settings.members = ["token_type": "DPoP"]
            case .otherHost: settings.members = ["instance_url": "https://evil.example.org"]
            case .plainHost: settings.members = ["instance_url": "http://api.example.org"]
            }
        }

        var code: CofferError.Code {
            switch self {
            case .otherIssuer: .issuerMismatch
            case .noNonce, .otherNonce: .stateMismatch
            case .otherHost, .plainHost: .hostRefused
            default: .serverMalformed
            }
        }
    }

    @Test("Tokens that fail a check are revoked, and nothing is stored", arguments: TokenFault.allCases)
    func tokens(_ fault: TokenFault) async throws {
        try await SignInBench.with { bench in
            let signer = try TestAuthority.Signer("hidden", isPublished: false)
            bench.authority.change { settings in
                fault.apply(&settings)
                if fault == .unknownKey { settings.signer = signer }
            }
            let error = await bench.failure()
            #expect(error?.code == fault.code, "\(String(describing: error))")
            if fault == .noIDToken { #expect(error?.message.contains("remove that scope") == true) }
            let revoked = bench.authority.exchanges("/revoke").map { $0.field("token") }
            #expect(revoked == (fault == .noAccessToken ? ["refresh"] : ["refresh", "access"]))
            #expect(try await !bench.hasSession())
        }
    }

    @Test("A sign-in that fails leaves the earlier session as it was")
    func earlierSession() async throws {
        try await SignInBench.with { bench in
            try await bench.signIn()
            var earlier = try await bench.grants.record(SignInBench.id)
            bench.authority.change { settings in
                settings.claims = ["nonce": "another"]
                settings.members = ["refresh_token": "refresh-2", "access_token": "access-2"]
            }
            #expect(await bench.failure()?.code == .stateMismatch)
            let record = try #require(try await bench.grants.record(SignInBench.id))
            // The server may end it with the new tokens, so a refusal would not be its own revocation.
            #expect(record.ownRevocation != nil)
            earlier?.ownRevocation = record.ownRevocation
            #expect(record == earlier)
            #expect(try await text(bench.grants.refreshToken(SignInBench.id)?.token) == "refresh")
            let revoked = bench.authority.exchanges("/revoke").map { $0.field("token") }
            #expect(revoked == ["refresh-2", "access-2"])
        }
    }

    @Test("A code that was redeemed before is refused and not sent again")
    func replayedCode() async throws {
        try await SignInBench.with { (bench) async throws in
            bench.authority.change { $0.isCodeUsed = true }
            let error = await bench.failure()
            #expect(error?.code == .serverRefused && error?.serverCode == "invalid_grant")
            #expect(bench.authority.exchanges("/token").count == 1)
            #expect(try await !bench.hasSession())
        }
    }

    @Test("A locked vault ends a sign-in before anything is sent")
    func locked() async throws {
        try await SignInBench.with { (bench) async throws in
            bench.temporary.vault.lock()
            #expect(await bench.failure()?.code == .locked)
            #expect(bench.authority.count == 0)
        }
    }

    @Test("Names that cannot be stored end a sign-in before anything is sent")
    func names() async throws {
        try await SignInBench.with { bench in
            for (profile, code) in [("a#b", CofferError.Code.invalidInput), ("none", .absent)] {
                do throws(CofferError) {
                    _ = try await bench.oauth.signIn(profile, account: "ada", by: .device)
                    Issue.record("The sign-in succeeded.")
                } catch {
                    #expect(error.code == code)
                }
            }
            #expect(bench.authority.count == 0)
        }
    }
}
