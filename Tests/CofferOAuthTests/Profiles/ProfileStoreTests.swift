@testable import CofferOAuth
import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import Testing
import TestSupport

@Suite("Profiles in a vault")
struct ProfileStoreTests {
    private func code(_ body: () async throws -> Void) async -> CofferError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CofferError)?.code
        }
    }

    @Test("A service of profiles and clients is reserved, and others that look like it are not")
    func reserved() async throws {
        try await TemporaryVault.with { temporary in
            let tokens = temporary.vault.tokens
            for service in ["oauth-profile:work", "oauth-profile:", "oauth-client:work"] {
                let id = try TokenID(service: service, account: "", kind: .other)
                #expect(await code { try await tokens.put("{}", for: id) } == .refused, "\(service)")
                let plain = try TokenID(service: "plain", account: "", kind: .other)
                try await tokens.put("{}", for: plain)
                #expect(await code { try await tokens.rename(plain, to: id) } == .refused)
            }
            for service in ["oauth-profile", "oauth:work", "Oauth-profile:work"] {
                try await tokens.put("{}", for: TokenID(service: service, account: ""))
            }
            #expect(try await ProfileStore(temporary.vault, managed: nil).names().isEmpty)
        }
    }

    @Test("Profiles are added once, listed by name, changed and removed")
    func life() async throws {
        try await TemporaryVault.with { temporary in
            let store = ProfileStore(temporary.vault, managed: nil)
            let (work, full) = (try SampleProfile.plain(), try SampleProfile.full())
            #expect(await code { _ = try await store.profile("work") } == .absent)
            #expect(await code { try await store.update(work) } == .absent)
            #expect(await code { _ = try await store.profile("a#grant") } == .invalidInput)
            try await store.add(work)
            try await store.add(full)
            #expect(await code { try await store.add(work) } == .alreadyExists)
            #expect(try await store.names() == ["full", "work"])
            #expect(try await store.list() == [full, work])
            var changed = work
            changed.scopes = ["api", "refresh_token"]
            try await store.update(changed)
            #expect(try await store.profile("work") == changed)
            #expect(try await store.remove("work"))
            #expect(try await !store.remove("work"))
            #expect(try await store.names() == ["full"])
        }
    }

    @Test("Endpoints that differ from the accepted ones are refused until they are accepted")
    func endpoints() async throws {
        try await TemporaryVault.with { temporary in
            let store = ProfileStore(temporary.vault, managed: nil)
            var profile = try SampleProfile.full()
            try await store.add(profile)
            let pinned = try #require(profile.endpoints)
            var changes: [PinnedEndpoints?] = [nil]
            var other = pinned
            other.urls[.token] = try HTTPSURL("https://evil.example.org/token")
            changes.append(other)
            other = pinned
            other.urls[.revocation] = try HTTPSURL("https://login.example.org/revoke")
            changes.append(other)
            other = pinned
            other.mutualTLSAliases = [:]
            changes.append(other)
            other = pinned
            other.requiresIssuerInRedirect = false
            changes.append(other)
            for change in changes {
                profile.endpoints = change
                let refused = profile
                #expect(await code { try await store.update(refused) } == .refused)
                #expect(try await store.profile("full").endpoints == pinned)
            }
            let accepted = profile
            try await store.update(accepted, acceptsEndpoints: true)
            #expect(try await store.profile("full") == accepted)
            let moved = try OAuthProfile("full", issuer: "https://evil.example.org", clientID: "a")
            let codeOfMove = await code { try await store.update(moved, acceptsEndpoints: true) }
            #expect(codeOfMove == .issuerMismatch)
        }
    }

    @Test("The first endpoints of a profile need no acceptance")
    func firstEndpoints() async throws {
        try await TemporaryVault.with { temporary in
            let store = ProfileStore(temporary.vault, managed: nil)
            var profile = try SampleProfile.plain()
            try await store.add(profile)
            profile.endpoints = PinnedEndpoints([.token: try HTTPSURL("https://login.example.org/token")])
            let first = profile
            try await store.update(first)
            #expect(try await store.profile("work") == first)
        }
    }

    @Test("A client's secrets are stored beside its profile and go with it")
    func secrets() async throws {
        try await TemporaryVault.with { temporary in
            let store = ProfileStore(temporary.vault, managed: nil)
            let token = try Token(copying: "hunter2")
            #expect(await code { try await store.set(token, as: .secret, of: "work") } == .absent)
            try await store.add(SampleProfile.plain())
            let empty = try Token(copying: "")
            #expect(await code { try await store.set(empty, as: .secret, of: "work") } == .invalidInput)
            try await store.set(token, as: .secret, of: "work")
            try await store.set(Token(copying: "hunter3"), as: .secret, of: "work")
            try await store.set(token, as: .proxy, of: "work")
            #expect(try await store.secrets(of: "work") == [.secret, .proxy])
            #expect(try await store.secret(.secret, of: "work")?.copyBytes() == Array("hunter3".utf8))
            #expect(try await store.secret(.key, of: "work") == nil)
            try await store.remove("work")
            #expect(try await store.secrets(of: "work").isEmpty)
        }
    }

    @Test("A profile of a server that the administrator does not allow is neither added, changed nor used")
    func managed() async throws {
        try await TemporaryVault.with { temporary in
            let text = #"{"AppServiceHosts":["other.example.org"],"OnlyShowAuthorizedHosts":true}"#
            let managed = try ManagedConfiguration(parsing: Array(text.utf8))
            let store = ProfileStore(temporary.vault, managed: managed)
            let profile = try SampleProfile.plain()
            #expect(await code { try await store.add(profile) } == .hostRefused)
            let earlier = ProfileStore(temporary.vault, managed: nil)
            try await earlier.add(profile)
            #expect(await code { try await store.update(profile) } == .hostRefused)
            #expect(await code { _ = try await store.security(of: profile) } == .hostRefused)
            _ = try await earlier.security(of: profile)
        }
    }

    @Test("A server that announces an endpoint elsewhere does not lead past the administrator")
    func managedEndpoints() async throws {
        try await TemporaryVault.with { temporary in
            let text = #"{"AppServiceHosts":["login.example.org"],"OnlyShowAuthorizedHosts":true}"#
            let managed = try ManagedConfiguration(parsing: Array(text.utf8))
            let store = ProfileStore(temporary.vault, managed: managed)
            let profile = try SampleProfile.plain()
            try await store.add(profile)
            var moved = profile
            moved.endpoints = PinnedEndpoints([.token: try HTTPSURL("https://evil.example.org/token")])
            let announced = moved
            #expect(await code { try await store.update(announced) } == .hostRefused)
            #expect(await code { _ = try await store.security(of: announced) } == .hostRefused)
            #expect(try await store.profile("work") == profile)
        }
    }

    @Test("While the vault is locked nothing is read or changed, and nothing is queued")
    func locked() async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let store = ProfileStore(temporary.vault, managed: nil)
            let profile = try SampleProfile.plain()
            try await store.add(profile)
            let other = ProfileStore(try await temporary.openAnother(), managed: nil)
            let more = try SampleProfile.full()
            #expect(await code { try await other.add(more) } == .locked)
            #expect(await code { try await other.update(profile) } == .locked)
            #expect(await code { _ = try await other.profile("work") } == .locked)
            #expect(try await store.names() == ["work"])
        }
    }

    @Test("The rules for connections come from the profile and its client's secrets")
    func security() async throws {
        try await TemporaryVault.with { temporary in
            let store = ProfileStore(temporary.vault, managed: nil)
            var profile = try SampleProfile.full()
            profile.authentication = .mutualTLS
            let client = profile
            try await store.add(client)
            #expect(await code { _ = try await store.security(of: client) } == .absent)
            try await store.set(Token(copying: "chain"), as: .certificate, of: "full")
            try await store.set(Token(copying: "key"), as: .key, of: "full")
            try await store.set(Token(copying: "no colon"), as: .proxy, of: "full")
            #expect(await code { _ = try await store.security(of: client) } == .invalidInput)
            try await store.set(Token(copying: "ada:a:b"), as: .proxy, of: "full")
            let security = try await store.security(of: client)
            #expect(security.pins == client.trust.publicKeyDigests)
            #expect(security.clientCertificate?.chain == Array("chain".utf8))
            guard case .server(let proxy) = security.proxy else {
                Issue.record("There is no proxy.")
                return
            }
            #expect(proxy.host == "proxy.example.org" && proxy.port == 3128 && proxy.user == "ada")
        }
    }
}
