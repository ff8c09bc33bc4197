public import Coffer
public import CofferBase
import Synchronization

/// A source of revocations that asks servers whether their sessions are still active (RFC 7662).
///
/// An answer counts only if the same server said earlier, to this source, that the session is active: many
/// servers call every token inactive that they do not know or do not explain to the client. An inactive
/// session is asked about a second time, and reported only if its token has not changed in the meantime. An
/// unreachable server does not revoke anything.
public final class OAuthRevocationSource: RevocationSource {
    /// A session and its server.
    package struct Session: Sendable {
        let grant: GrantID
        let endpoints: ServerEndpoints

        /// Creates a session.
        package init(_ grant: GrantID, endpoints: ServerEndpoints) {
            self.grant = grant
            self.endpoints = endpoints
        }
    }

    /// A sign-in that a server has called active.
    private struct SignIn: Hashable {
        let grant: GrantID
        let generation: [UInt8]
        let kind: TokenKind
    }

    private let store: GrantStore
    private let clock: VaultClock
    private let events: OAuthEventSource?
    private let sessions: @Sendable () async throws(CofferError) -> [Session]
    private let sleep: @Sendable (Duration) async -> Bool
    private let active = Mutex<Set<SignIn>>([])
    private static let confirmationWait = Duration.seconds(1)

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - store: The sessions of the vault.
    ///   - clock: The clock.
    ///   - events: The source of the events; `nil` for none.
    ///   - sleep: Waits; returns `false` if the task was cancelled.
    ///   - sessions: A closure that returns the sessions to ask about.
    package init(
        _ store: GrantStore, clock: VaultClock, events: OAuthEventSource? = nil,
        sleep: @escaping @Sendable (Duration) async -> Bool = { time in
            (try? await Task.sleep(for: time, clock: .continuous)) != nil
        }, _ sessions: @escaping @Sendable () async throws(CofferError) -> [Session]
    ) {
        self.store = store
        self.clock = clock
        self.events = events
        self.sleep = sleep
        self.sessions = sessions
    }

    /// Asks every server once.
    ///
    /// - Returns: The revoked sessions.
    /// - Throws: The first error, if no session was found to be revoked.
    public func poll() async throws(CofferError) -> [Revocation] {
        var found: [Revocation] = []
        var failure: CofferError?
        for session in try await sessions() {
            do throws(CofferError) {
                guard try await isRevoked(session) else { continue }
                found.append(
                    .grantRevoked(
                        reason: "the server says that the session is no longer active",
                        of: session.grant.tokenAccount))
            } catch {
                failure = failure ?? error
            }
        }
        if found.isEmpty, let failure { throw failure }
        return found
    }

    /// Notes that a session is revoked, whatever the policy left of it.
    public func didHandle(_ revocation: Revocation) async {
        guard case .grantRevoked(_, let account?) = revocation,
            let grants = try? await store.list(),
            let grant = grants.first(where: { $0.tokenAccount == account })
        else { return }
        let record = try? await store.update(grant) { (record) throws(CofferError) in
            record.state = .revoked
        }
        events?.post(.revoked, grant, record?.obstacle)
    }

    private func isRevoked(_ session: Session) async throws(CofferError) -> Bool {
        guard session.endpoints.has(.introspection), let record = try await store.record(session.grant),
            record.obstacle == nil, let before = try await token(of: session.grant)
        else { return false }
        let signIn = SignIn(
            grant: session.grant, generation: Array(record.generation.utf8), kind: before.info.id.kind)
        if try await isActive(before, session) {
            active.withLock { _ = $0.insert(signIn) }
            return false
        }
        guard active.withLock({ $0.contains(signIn) }), try await isUnchanged(before, session),
            await sleep(Self.confirmationWait), try await !isActive(before, session)
        else { return false }
        // This program may have ended the session itself, by revoking another token of the client.
        guard try await store.record(session.grant)?.ownRevocation == nil else { return false }
        return try await isUnchanged(before, session)
    }

    /// Returns the session's refresh token, or without one its live access token.
    private func token(of grant: GrantID) async throws(CofferError) -> StoredToken? {
        if let refresh = try await store.refreshToken(grant) { return refresh }
        guard let access = try await store.accessToken(grant), access.isAlive(clock) else { return nil }
        return StoredToken(token: access.token, info: access.info)
    }

    private func isActive(_ token: StoredToken, _ session: Session) async throws(CofferError) -> Bool {
        let hint = ServerEndpoints.TokenHint(token.info.id.kind)
        return try await session.endpoints.introspect(token.token, hint: hint).isActive
    }

    private func isUnchanged(_ token: StoredToken, _ session: Session) async throws(CofferError) -> Bool {
        guard let now = try await self.token(of: session.grant) else { return false }
        return now.info.id == token.info.id && now.info.version == token.info.version
    }
}
