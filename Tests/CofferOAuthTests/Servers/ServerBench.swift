@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import Synchronization

/// The system's clocks, ahead by a time that a test chooses.
final class ShiftedClock: Sendable {
    private let lead = Mutex(Duration.zero)

    var source: VaultClock {
        VaultClock(
            bootTime: { [self] in VaultClock.system.bootTime() + time },
            wallClock: { [self] in VaultClock.system.wallClock() + time },
            bootIdentifier: { VaultClock.system.bootIdentifier() })
    }

    /// The time by which they are ahead.
    var time: Duration { lead.withLock { $0 } }

    func advance(by time: Duration) { lead.withLock { $0 += time } }
}

/// A real server, and a vault with a profile `work` of one of its clients.
struct ServerBench {
    static let id = GrantID(profile: "work", account: "ada")

    let server: RealServer
    let temporary: TemporaryVault
    let oauth: OAuth
    let clock: ShiftedClock

    var grants: GrantStore { GrantStore(temporary.vault) }

    /// Starts a server, creates a vault with the profile, and passes both to `body`. Sessions that end do not
    /// touch the vault. If `isFrozen`, the client's time stands still.
    static func with(
        _ kind: RealServer.Kind, _ options: RealServer.Options = RealServer.Options(),
        client: String = "native", keyProof: KeyProofUse = .never, isFrozen: Bool = false,
        _ body: (ServerBench) async throws -> Void
    ) async throws {
        var vaultOptions = VaultOptions()
        vaultOptions.inactivity = .seconds(24 * 3600)
        let settings = vaultOptions
        try await RealServer.with(kind, options) { server in
            try await TemporaryVault.with(options: settings) { temporary in
                temporary.clock.setWallClock(to: VaultClock.system.wallClock())
                let clock = ShiftedClock()
                let oauth = try await Self.oauth(
                    temporary.vault, clock: isFrozen ? temporary.clock.source : clock.source)
                let bench = ServerBench(server: server, temporary: temporary, oauth: oauth, clock: clock)
                if let client = server.clients.first(where: { $0.name.hasSameBytes(as: client) }) {
                    let profile = try bench.profile("work", client, keyProof: keyProof)
                    try await bench.add(profile, client)
                }
                try await body(bench)
            }
        }
    }

    private static func oauth(_ vault: Vault, clock: VaultClock) async throws(CofferError) -> OAuth {
        try await OAuth(
            vault, browser: RealServer.browser, onRevocation: .keep, onLost: .keep, clock: clock)
    }

    /// The sessions of the same vault, opened again.
    func another() async throws -> OAuth {
        let vault = try await temporary.openAnother()
        try await vault.unlock()
        return try await Self.oauth(vault, clock: clock.source)
    }

    /// Returns a profile of a client.
    func profile(
        _ name: String, _ client: RealServer.Client, _ authentication: ClientAuthentication? = nil,
        keyProof: KeyProofUse = .never
    ) throws -> OAuthProfile {
        let port = try server.resource().port
        var profile = try OAuthProfile(
            name, issuer: server.issuer, clientID: client.name, scopes: server.scopes,
            authentication: authentication ?? Self.authentication(client.authentication),
            resourceHosts: ["localhost:\(port)"])
        // Without openid, Django's answer to a device would have to contain an id token, and does not.
        if server.kind == .django, client.name == "device" { profile.scopes = ["api"] }
        profile.keyProof = keyProof
        profile.trust = ServerTrust(authorities: try server.file("ca"))
        profile.redirect = RedirectRule(port: server.redirectPort(), path: "/callback")
        if server.kind == .django {
            // It does not announce these.
            var endpoints = PinnedEndpoints()
            for endpoint in [ServerEndpoint.revocation, .introspection, .deviceAuthorization] {
                endpoints.urls[endpoint] = try HTTPSURL(server.url(endpoint) ?? "")
            }
            profile.endpoints = endpoints
        }
        return profile
    }

    private static func authentication(_ method: String) -> ClientAuthentication {
        switch method {
        case "client_secret_basic": .basic
        case "client_secret_post": .post
        // Glewlwyd accepts nothing but the URL that it is asked at.
        case "private_key_jwt": .privateKeyJWT(audience: .receivingEndpoint)
        case "tls_client_auth": .mutualTLS
        default: ClientAuthentication.none
        }
    }

    /// Adds a profile with the secrets of its client.
    func add(_ profile: OAuthProfile, _ client: RealServer.Client) async throws {
        try await oauth.add(profile)
        if let secret = client.secret {
            try await oauth.profiles.set(Token(copying: secret), as: .secret, of: profile.name)
        }
        let key = try Token(copying: server.file("key"))
        try await oauth.profiles.set(key, as: .key, of: profile.name)
        let certificate = try Token(copying: server.file("certificate"))
        try await oauth.profiles.set(certificate, as: .certificate, of: profile.name)
    }

    /// Signs in without a browser. `edit` changes the address that the user pastes.
    @discardableResult
    func signIn(
        _ profile: String = "work", editing edit: @escaping @Sendable (String) -> String = { $0 }
    ) async throws(CofferError) -> Grant {
        let (server, log) = (server, SignInBench.Log())
        let way = SignInWay.pastedRedirect { () async throws(CofferError) -> Token in
            guard let url = log.url else { throw CofferError(.absent, "The user was shown no URL.") }
            let location = try await server.signIn(at: url)
            return try Token(copying: edit(location))
        }
        return try await oauth.signIn(profile, account: Self.id.account, by: way) { log.note($0) }
    }

    /// The status of a request for the server's resource.
    func status(_ grant: Grant) async throws -> Int {
        try await grant.send(OAuthRequest(.get, server.resource())).status
    }

    func refreshToken(_ id: GrantID = Self.id) async throws -> String {
        text(try await grants.refreshToken(id)?.token) ?? ""
    }

    func state() async throws -> String? { try await grants.record(Self.id)?.state.name }
}
