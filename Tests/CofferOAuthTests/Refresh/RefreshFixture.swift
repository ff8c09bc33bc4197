@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import Synchronization

/// The waits of a machine, which advance the clock instead of passing.
final class Waits: Sendable {
    private let all = Mutex<[Duration]>([])
    private let clock: TestClock

    init(_ clock: TestClock) { self.clock = clock }

    var list: [Duration] { all.withLock { $0 } }

    var sleep: @Sendable (Duration) async -> Bool {
        { [self] time in
            all.withLock { $0.append(time) }
            clock.advance(by: time)
            return true
        }
    }
}

/// A session of the profile `work` whose refresh token is `r0` and whose access token lives for an hour.
struct RefreshFixture {
    static let grant = GrantID(profile: "work", account: "ada")

    let temporary: TemporaryVault
    let store: GrantStore
    let endpoint: EndpointDouble
    let waits: Waits
    let events: OAuthEventSource
    var profile: OAuthProfile

    var grant: GrantID { Self.grant }
    var clock: TestClock { temporary.clock }

    static func with(
        hasGrace: Bool = true, steps: [EndpointDouble.Step] = [], storage: GrantStorage = .all,
        _ body: (RefreshFixture) async throws -> Void
    ) async throws {
        var options = VaultOptions()
        options.inactivity = .seconds(24 * 3600)
        try await TemporaryVault.with(options: options) { temporary in
            let fixture = RefreshFixture(
                temporary: temporary, store: GrantStore(temporary.vault),
                endpoint: EndpointDouble(hasGrace: hasGrace, steps), waits: Waits(temporary.clock),
                events: OAuthEventSource(), profile: try SampleProfile.plain())
            try await fixture.signIn(storage: storage)
            try await body(fixture)
        }
    }

    @discardableResult
    func signIn(
        _ refresh: String = "r0", storage: GrantStorage = .all, scopes: [String] = ["api"],
        keepsRefreshToken: Bool = true
    ) async throws -> GrantRecord {
        var record = try GrantRecord(
            issuer: "https://login.example.org", subject: "ada", scopes: scopes, storage: storage,
            clock: clock.source)
        record.keepsRefreshToken = keepsRefreshToken
        return try await store.storeNew(
            tokens(EndpointDouble.answer(refresh)), record: record, dpopKey: nil, for: grant,
            storage: storage, clock: clock.source)
    }

    /// The machine of this process, or of another one.
    func machine(_ other: Vault? = nil, policies: [GrantPolicy] = []) -> RefreshMachine {
        var machine = RefreshMachine(
            other.map { GrantStore($0) } ?? store, profile: profile, policies: policies, clock: clock.source,
            events: events, sleep: waits.sleep)
        // A loaded machine takes longer for a dozen callers that wait for each other.
        machine.leaseDeadline = .seconds(600)
        return machine
    }

    func run(
        _ other: Vault? = nil, need: RefreshNeed = .due(minimumLife: .zero), policies: [GrantPolicy] = []
    ) async throws(CofferError) -> RefreshOutcome {
        try await machine(other, policies: policies).run(grant, endpoint: endpoint, need: need)
    }

    /// Lets the access token's hour pass.
    func letExpire() { clock.advance(by: .seconds(3600)) }

    /// Opens the vault as another process would.
    func otherProcess() async throws -> Vault {
        let vault = try await temporary.openAnother()
        try await vault.unlock()
        return vault
    }

    func refreshToken(_ other: Vault? = nil) async throws -> String? {
        text(try await (other.map { GrantStore($0) } ?? store).refreshToken(grant)?.token)
    }

    func accessToken(_ other: Vault? = nil) async throws -> String? {
        text(try await (other.map { GrantStore($0) } ?? store).accessToken(grant)?.token)
    }

    func state(_ other: Vault? = nil) async throws -> String? {
        try await (other.map { GrantStore($0) } ?? store).record(grant)?.state.name
    }
}

extension RefreshOutcome {
    /// The name of the outcome.
    var name: String {
        switch self {
        case .current: "current"
        case .refreshed: "refreshed"
        case .refused: "refused"
        case .uncertain: "uncertain"
        case .suspended: "suspended"
        case .lost: "lost"
        case .revoked: "revoked"
        case .expired: "expired"
        }
    }
}

/// The code that `body` fails with; `nil` when it succeeds.
func refusalCode(_ body: () async throws -> Void) async -> CofferError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CofferError)?.code
    }
}
