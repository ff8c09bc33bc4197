@testable import CofferOAuth
import CofferBase
import CofferEngine
import Testing
import TestSupport

/// Profiles that several tests use.
enum SampleProfile {
    /// A profile with nothing but what it needs.
    static func plain(_ name: String = "work") throws -> OAuthProfile {
        try OAuthProfile(
            name, issuer: "https://login.example.org", clientID: "desktop", scopes: ["api"],
            resourceHosts: ["api.example.org"])
    }

    /// A profile in which every property has another value than the default.
    static func full(_ name: String = "full") throws -> OAuthProfile {
        var profile = try OAuthProfile(
            name, issuer: "https://login.example.org/tenant/", clientID: "desk top", scopes: ["api", "id"],
            authentication: .privateKeyJWT(audience: .tokenEndpoint),
            resourceHosts: ["*.example.org:8443", "[::1]"])
        profile.endpoints = PinnedEndpoints(
            [
                .authorization: try HTTPSURL("https://login.example.org/authorize?tenant=1"),
                .token: try HTTPSURL("https://login.example.org/token"),
            ],
            mutualTLSAliases: [.token: try HTTPSURL("https://mtls.example.org/token")],
            requiresIssuerInRedirect: true, requiresPushedAuthorization: true, offersKeyProof: true)
        profile.assertionKeyID = "key 1"
        profile.policy = .idle(.seconds(3600))
        profile.storage = .refreshOnly
        profile.assumedLife = .seconds(900)
        profile.redirect = RedirectRule(address: .ipv6, port: 8400, path: "/back")
        profile.keyProof = .always
        profile.trust = ServerTrust(
            authorities: "-----BEGIN CERTIFICATE-----\n", publicKeyDigests: [Array(0..<32)])
        profile.proxy = .server(host: "proxy.example.org", port: 3128)
        profile.quirks = ServerQuirks(
            revokedCodes: ["bad_refresh_token"], renewalCodes: ["Bad_OAuth_Token"],
            renewsOnBareForbidden: true, signInPage: try HTTPSURL("https://login.example.org/login"))
        return profile
    }
}

@Suite("OAuth profiles")
struct OAuthProfileTests {
    @Test(
        "A name that is not the name of a profile is refused",
        arguments: [
            "", "#", "a#grant", "a b", "-a", ".a", "ä", "a/b", "a\n", String(repeating: "a", count: 65),
        ])
    func names(_ name: String) {
        #expect(failure { _ = try SampleProfile.plain(name) } == .invalidInput, "\(name)")
    }

    @Test("A value outside its limits is refused")
    func limits() throws {
        let changes: [(inout OAuthProfile) -> Void] = [
            { $0.clientID = "" }, { $0.clientID = "a\u{7}b" },
            { $0.clientID = "é" }, { $0.assertionKeyID = "" }, { $0.assertionKeyID = "a\n" },
            { $0.assertionKeyID = String(repeating: "a", count: 257) }, { $0.scopes = ["a b"] },
            { $0.scopes = [""] }, { $0.scopes = ["a\"b"] },
            { $0.assumedLife = .seconds(59) },
            { $0.assumedLife = .seconds(86401) },
            { $0.assumedLife = .milliseconds(60500) },
            { $0.policy = .absolute(.seconds(1)) },
            { $0.policy = .idle(.seconds(-3600)) },
            { $0.redirect.path = "back" }, { $0.redirect.path = "" },
            { $0.redirect.path = "/a?b" }, { $0.redirect.path = "/../a" },
            { $0.redirect.path = "/a#b" }, { $0.redirect.port = 0 },
            { $0.redirect.path = ":80/a" },
            { $0.trust.authorities = "" },
            { $0.trust.authorities = "\u{0}" },
            { $0.trust.publicKeyDigests = [[1, 2, 3]] },
            { $0.proxy = .server(host: "Proxy", port: 80) },
            { $0.proxy = .server(host: "proxy", port: 0) },
            { $0.quirks.revokedCodes = ["a b"] },
            { $0.quirks.renewalCodes = [""] },
        ]
        for (index, change) in changes.enumerated() {
            var profile = try SampleProfile.plain()
            change(&profile)
            #expect(failure { try profile.check() } == .invalidInput, "\(index)")
            #expect(failure { _ = try profile.encoded() } == .invalidInput, "\(index)")
        }
    }

    @Test(
        "An issuer that is no https URL, or that has a query or a fragment, is refused",
        arguments: ["http://a.org", "https://a.org?x", "https://a.org#x", "https://A.org", "a.org"])
    func issuers(_ issuer: String) {
        #expect(failure { _ = try OAuthProfile("a", issuer: issuer, clientID: "c") } == .invalidInput)
    }

    @Test("A stored form that this release did not write is refused, and nothing of it is taken")
    func refusedForms() throws {
        let text = String(decoding: try SampleProfile.full().encoded(), as: UTF8.self)
        let changes: [(String, String, CofferError.Code)] = [
            (#""version":1"#, #""version":2"#, .unsupportedVersion),
            (#""version":1"#, #""version":0"#, .corrupt), (#""version":1"#, #""version":"1""#, .corrupt),
            (#""version":1"#, #""version":1,"extra":true"#, .corrupt),
            (#""version":1"#, #""version":1,"version":1"#, .corrupt),
            (#""version":1"#, #""ver":1"#, .corrupt),
            (#""storage":"refreshOnly""#, #""storage":"everything""#, .corrupt),
            (#""name":"full""#, #""name":"a#b""#, .corrupt), (#""name":"full","#, "", .corrupt),
            (#""assumedLife":900"#, #""assumedLife":-900"#, .corrupt),
            (#""assumedLife":900"#, #""assumedLife":9e2"#, .corrupt),
            (#""authentication":"assertion""#, #""authentication":"password""#, .corrupt),
            (#""assertionAudience":"tokenEndpoint","#, "", .corrupt),
            (#""authentication":"assertion""#, #""authentication":"none""#, .corrupt),
            (#""assertionKeyID":"key 1""#, #""assertionKeyID":1"#, .corrupt),
            (#""assertionKeyID":"key 1""#, #""assertionKeyID":"é""#, .corrupt),
            (#""policy":"idle""#, #""policy":"never""#, .corrupt),
            (#""policySeconds":3600,"#, "", .corrupt), (#""port":8400"#, #""port":70000"#, .corrupt),
            (#""port":8400"#, #""port":8400,"more":1"#, .corrupt),
            ("https://login.example.org/token", "http://login.example.org/token", .corrupt),
            (#""token_endpoint""#, #""tokens_endpoint""#, .corrupt), ("*.example.org", "*.org", .corrupt),
            (#""address":"::1""#, #""address":"localhost""#, .corrupt),
            (#""kind":"server""#, #""kind":"socks""#, .corrupt),
            (#""pushedAuthorization":true"#, #""pushedAuthorization":1"#, .corrupt),
            (#""keyProofOffered":true"#, #""keyProofOffered":1"#, .corrupt),
        ]
        for (old, new, code) in changes {
            let changed = text.replacingFirst(old, with: new)
            #expect(changed != text, "\(old)")
            #expect(failure { _ = try OAuthProfile(decoding: Array(changed.utf8)) } == code, "\(new)")
        }
        for odd in ["", "[]", "{}", "null", text + " x", String(text.dropLast())] {
            #expect(failure { _ = try OAuthProfile(decoding: Array(odd.utf8)) } == .corrupt)
        }
        let large = [UInt8](repeating: 0x20, count: OAuthProfile.maxByteCount) + text.utf8
        #expect(failure { _ = try OAuthProfile(decoding: large) } == .corrupt)
    }

    @Test("A profile comes back as it was stored, and its bytes are always the same")
    func stored() throws {
        for profile in [try SampleProfile.plain(), try SampleProfile.full()] {
            let bytes = try profile.encoded()
            let again = try OAuthProfile(decoding: bytes)
            #expect(again == profile)
            #expect(try again.encoded() == bytes)
        }
        var profile = try SampleProfile.plain()
        for authentication in [
            ClientAuthentication.none, .basic, .post, .mutualTLS, .privateKeyJWT(audience: .issuer),
            .privateKeyJWT(audience: .receivingEndpoint),
        ] {
            profile.authentication = authentication
            #expect(try OAuthProfile(decoding: profile.encoded()) == profile)
        }
        for policy in [
            GrantPolicy.untilRevoked, .onceOnly, .eachStart, .hourly, .daily, .monthly, .idle(.seconds(60)),
        ] {
            profile.policy = policy
            #expect(try OAuthProfile(decoding: profile.encoded()) == profile)
        }
        profile.proxy = .environment
        #expect(try OAuthProfile(decoding: profile.encoded()) == profile)
    }

    @Test("Tokens go to the profile's resource hosts alone, and redirects to this machine")
    func hosts() throws {
        let profile = try SampleProfile.plain()
        #expect(try profile.allows(HTTPSURL("https://api.example.org/v1")))
        #expect(try !profile.allows(HTTPSURL("https://login.example.org/")))
        #expect(profile.redirect.uri(port: 4711) == "http://127.0.0.1:4711/oauth/work")
        #expect(RedirectRule(address: .ipv6, path: "/a").uri(port: 1) == "http://[::1]:1/a")
    }

    @Test(
        "A path that the listener refuses is refused in a profile, too",
        arguments: ["", "a", "/a;b", "/%41", "//x", "/a//b", "/a/../b", "/a?b", "/a#b", "/ü", "/a b"])
    func redirectPaths(_ path: String) throws {
        var profile = try SampleProfile.plain()
        profile.redirect.path = path
        let changed = profile
        #expect(failure { try changed.check() } == .invalidInput)
        #expect(
            failure { _ = try RedirectPlace(address: .ipv4, port: 1, path: path) } == .invalidInput)
    }

    @Test(
        "A profile and its listener have the same redirect URI on every port",
        arguments: [1, 80, 443, 8400] as [UInt16])
    func redirectURIs(_ port: UInt16) throws {
        for address in LoopbackAddress.allCases {
            let rule = RedirectRule(address: address == .ipv6 ? .ipv6 : .ipv4, path: "/oauth/work")
            let place = try RedirectPlace(address: address, port: port, path: rule.path)
            #expect(place.uri == rule.uri(port: port))
            #expect(place.uri == "http://" + place.host + rule.path)
            #expect(place.host == address.literal + (port == 80 ? "" : ":\(port)"))
        }
    }

    @Test("The alias of an endpoint is for clients with a certificate")
    func aliases() throws {
        let endpoints = try #require(try SampleProfile.full().endpoints)
        #expect(endpoints.url(.token, for: .mutualTLS)?.host == "mtls.example.org")
        #expect(endpoints.url(.token, for: .basic)?.host == "login.example.org")
        #expect(endpoints.url(.authorization, for: .mutualTLS)?.host == "login.example.org")
        #expect(endpoints.url(.revocation, for: .basic) == nil)
    }
}

@Suite("Scopes")
struct OAuthScopesTests {
    @Test("A scope includes what the documents say, and never a refresh token")
    func closure() {
        #expect(OAuthScopes.closure(of: ["api"]) == ["api", "chatter_api"])
        #expect(OAuthScopes.closure(of: ["web", "x"]) == ["web", "visualforce", "x"])
        #expect(
            OAuthScopes.closure(of: ["full"]) == ["full", "api", "chatter_api", "id", "visualforce", "web"])
        #expect(!OAuthScopes.covers("refresh_token", by: ["full"]))
        #expect(OAuthScopes.covers("refresh_token", by: ["full", "refresh_token"]))
        #expect(OAuthScopes.covers("anything", by: ["full"]) && !OAuthScopes.covers("api", by: ["web"]))
        #expect(OAuthScopes.covers("chatter_api", by: ["api"]))
        #expect(!OAuthScopes.covers("api", by: ["chatter_api"]))
    }

    @Test("Only full without refresh_token is warned of")
    func warnings() {
        #expect(OAuthScopes.warnings(about: ["full"]) == [.fullWithoutRefreshToken])
        #expect(OAuthScopes.warnings(about: ["full", "refresh_token"]).isEmpty)
        #expect(OAuthScopes.warnings(about: ["api"]).isEmpty && OAuthScopes.warnings(about: []).isEmpty)
    }
}

extension String {
    /// The text with the first occurrence of `old` replaced.
    fileprivate func replacingFirst(_ old: String, with new: String) -> String {
        guard let range = firstRange(of: old) else { return self }
        return replacingCharacters(in: range, by: new)
    }

    private func replacingCharacters(in range: Range<Index>, by new: String) -> String {
        String(self[..<range.lowerBound]) + new + String(self[range.upperBound...])
    }
}
