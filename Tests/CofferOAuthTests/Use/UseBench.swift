@testable import CofferOAuth
import Coffer
import CofferBase
import CofferTesting

/// A session in a vault, and its servers.
struct UseBench {
    static let id = GrantID(profile: "work", account: "ada")
    static let login = "https://login.example.org"
    static let api = "https://api.example.org"
    static let tokenURL = login + "/token"
    static let answer =
        #"{"access_token":"access-1","refresh_token":"refresh-1","token_type":"Bearer","expires_in":3600}"#
    static let renewal =
        #"{"access_token":"access-2","refresh_token":"refresh-2","token_type":"Bearer","expires_in":3600}"#

    let vault: Vault
    let clock: TestClock
    let server: UseServer
    let store: GrantStore
    let endpoints: ServerEndpoints

    /// The profile of the tests.
    static func profile(_ change: (inout OAuthProfile) throws -> Void = { _ in }) throws -> OAuthProfile {
        var profile = try OAuthProfile(
            "work", issuer: login, clientID: "desktop", scopes: ["api"],
            resourceHosts: ["api.example.org", "*.cdn.example.org", "port.example.org:8443"])
        profile.endpoints = PinnedEndpoints([
            .authorization: try HTTPSURL(login + "/authorize"), .token: try HTTPSURL(tokenURL),
            .revocation: try HTTPSURL(login + "/revoke"),
            .introspection: try HTTPSURL(login + "/introspect"),
            .userInfo: try HTTPSURL(login + "/userinfo"), .endSession: try HTTPSURL(login + "/logout"),
        ])
        try change(&profile)
        return profile
    }

    init(_ vault: Vault, _ clock: TestClock, _ profile: OAuthProfile) async throws {
        self.vault = vault
        self.clock = clock
        server = UseServer()
        store = GrantStore(vault)
        endpoints = try await ServerEndpoints.load(
            profile, from: ProfileStore(vault, managed: nil), transport: server, clock: clock.source)
        server.answer(Self.tokenURL, .json(Self.renewal))
        server.answer(Self.login + "/revoke", UseServer.Answer())
    }

    /// Creates a session and passes it to `body`.
    static func with(
        _ change: (inout OAuthProfile) throws -> Void = { _ in }, storage: GrantStorage = .all,
        _ body: (UseBench) async throws -> Void
    ) async throws {
        let profile = try Self.profile(change)
        try await TemporaryVault.with { temporary in
            let bench = try await UseBench(temporary.vault, temporary.clock, profile)
            try await bench.signIn(storage: storage)
            try await body(bench)
        }
    }

    /// Stores the session of a sign-in.
    func signIn(storage: GrantStorage = .all, identityURL: String? = nil) async throws {
        var record = try GrantRecord(
            issuer: Self.login, subject: "ada-1", scopes: ["api"], storage: storage, clock: clock.source)
        record.identityURL = identityURL
        record.keepsRefreshToken = true
        try await store.storeNew(
            tokens(Self.answer), record: record, dpopKey: nil, for: Self.id, storage: storage,
            clock: clock.source)
    }

    /// The session's tokens, with renewals that do not wait.
    var session: SessionTokens {
        let machine = RefreshMachine(
            store, profile: endpoints.profile, clock: clock.source, sleep: { _ in true })
        return SessionTokens(
            Self.id, store: store, machine: machine, endpoint: endpoints, clock: clock.source)
    }

    var client: ResourceClient { ResourceClient(endpoints, source: session, pause: { _ in true }) }

    /// The state's name; `nil` if there is no session.
    func state() async throws -> String? { try await store.record(Self.id)?.state.name }

    /// The session's record.
    func record() async throws -> GrantRecord {
        guard let record = try await store.record(Self.id) else { throw GrantStore.signInNeeded }
        return record
    }

    /// The number of renewals that the server saw.
    var renewals: Int { server.requests(Self.tokenURL).count }
}

/// The error that `body` throws; `nil` if it throws none.
func useFailure(_ body: () async throws -> Void) async -> CofferError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? CofferError
    }
}
