package import Coffer
package import CofferBase

/// The renewal of a session's tokens, so that no crash, race or lost answer costs a session that can be kept.
///
/// One caller at a time, among all tasks, threads and processes, sends a refresh token. Before that it notes
/// on the disk that it does, so that after a crash the next caller knows that an answer may have been lost,
/// and sends the same token again.
package struct RefreshMachine: Sendable {
    /// The sessions.
    let store: GrantStore
    /// The session's profile.
    let profile: OAuthProfile
    /// The policies, of which any one ends the session.
    var policies: [GrantPolicy]
    /// The response if the server revoked the session.
    package var onRevocation = RevocationPolicy.wipe(.account)
    /// The response if the session is lost.
    package var onLost = RevocationPolicy.lock
    /// The response if the session's time is over. Nothing is erased by it if only the wall clock says so.
    package var onExpiry = RevocationPolicy.keep
    /// Checks an answer beyond its form, such as its id token. An error suspends the new access token.
    package var check: @Sendable (TokenResponse, GrantRecord) async throws(CofferError) -> Void
    /// Waits; returns `false` if the task was cancelled.
    var sleep: @Sendable (Duration) async -> Bool
    let clock: VaultClock
    let events: OAuthEventSource?
    /// The maximum time to wait for another caller's renewal.
    var leaseDeadline = GrantStore.leaseDeadline

    /// Creates a machine.
    ///
    /// - Parameters:
    ///   - store: The sessions.
    ///   - profile: The session's profile.
    ///   - policies: Further policies, such as the administrator's.
    ///   - clock: The clock.
    ///   - events: The source of the events; `nil` for none.
    ///   - sleep: Waits; returns `false` if the task was cancelled.
    package init(
        _ store: GrantStore, profile: OAuthProfile, policies: [GrantPolicy] = [], clock: VaultClock = .system,
        events: OAuthEventSource? = nil,
        sleep: @escaping @Sendable (Duration) async -> Bool = { time in
            (try? await Task.sleep(for: time, clock: .continuous)) != nil
        }
    ) {
        self.store = store
        self.profile = profile
        self.policies = [profile.policy] + policies
        self.clock = clock
        self.events = events
        self.sleep = sleep
        check = { (_, _) throws(CofferError) in }
    }

    /// The responses to the end of a session.
    var sessionEnd: SessionEnd {
        SessionEnd(
            store: store, onRevocation: onRevocation, onLost: onLost, onExpiry: onExpiry, events: events)
    }

    /// What is stored of a session.
    struct Snapshot {
        let record: GrantRecord
        let access: GrantAccess?
    }

    private func snapshot(_ grant: GrantID) async throws(CofferError) -> Snapshot {
        guard let record = try await store.record(grant) else { throw GrantStore.signInNeeded }
        return Snapshot(record: record, access: try await store.accessToken(grant, of: record))
    }

    /// Renews a session's tokens if that is needed. If the session has ended and its data is still to be
    /// erased, because a process died before that, the data is erased.
    ///
    /// - Parameters:
    ///   - grant: The session.
    ///   - endpoint: The server's token endpoint.
    ///   - need: The reason.
    /// - Returns: What became of it.
    /// - Throws: `signInNeeded` if there is no session, if it has no refresh token, or if it is being signed
    ///   out; `timedOut` if another caller's renewal does not end; `conflict` if the refresh token was
    ///   replaced or removed in another way; `locked` if the vault is locked, in which case nothing was sent
    ///   or the new token is pending until the next unlock; `cancelled`, `wiped`, `busy`, `noSpace` or
    ///   `readOnly`.
    package func run(
        _ grant: GrantID, endpoint: any TokenEndpoint, need: RefreshNeed = .due(minimumLife: .zero)
    ) async throws(CofferError) -> RefreshOutcome {
        let before = try await snapshot(grant)
        if !before.record.isErasureDue, let outcome = try outcome(of: before, need) { return outcome }
        return try await store.tokens.withRefreshLease(
            of: grant.tokenID(.refresh), deadline: leaseDeadline
        ) { () async throws(CofferError) -> RefreshOutcome in
            let now = try await snapshot(grant)
            if now.record.isErasureDue { try await sessionEnd.apply(now.record.state, to: grant) }
            if let outcome = try outcome(of: now, need) { return outcome }
            if policies.contains(where: { $0.hasEnded(now.record, isRenewal: true, clock: clock) }) {
                return try await expire(grant, now.record)
            }
            if let outcome = outcome(of: now, since: before) { return outcome }
            return try await refresh(grant, now, endpoint)
        }
    }

    /// Returns the outcome if nothing is to be sent; `nil` otherwise.
    private func outcome(of now: Snapshot, _ need: RefreshNeed) throws(CofferError) -> RefreshOutcome? {
        if let error = now.record.obstacle {
            switch now.record.state {
            case .lost: return .lost(error)
            case .revoked: return .revoked(error)
            case .expired: return .expired(error)
            default: throw error
            }
        }
        if policies.contains(where: { $0.hasEnded(now.record, isRenewal: false, clock: clock) }) {
            return nil
        }
        return need.isMet(by: now.access, clock) ? .current : nil
    }

    /// Returns the outcome if another caller tried while this one waited; `nil` if none did, or if it died.
    private func outcome(of now: Snapshot, since before: Snapshot) -> RefreshOutcome? {
        guard now.record.generation.hasSameBytes(as: before.record.generation) else { return .current }
        guard now.record.exchanges != before.record.exchanges else { return nil }
        let message = now.record.failure ?? "The renewal of the tokens failed. Try again."
        switch now.record.state {
        case .uncertain: return .uncertain(CofferError(.serverUnreachable, message))
        case .paired where now.record.failure != nil: return .refused(CofferError(.serverRefused, message))
        case .paired:
            guard let access = now.access, access.isAlive(clock) else { return nil }
            return .current
        default: return nil
        }
    }

    /// The response to the end of a session's time.
    private func end(byPolicy record: GrantRecord) -> SessionEnd {
        var end = sessionEnd
        let isCertain = policies.contains {
            $0.hasEnded(record, isRenewal: true, clock: clock, isCertain: true)
        }
        if !isCertain, case .wipe = end.onExpiry { end.onExpiry = .keep }
        return end
    }

    /// Ends a session by its policy: its tokens are removed. The caller must hold the lease.
    private func expire(
        _ grant: GrantID, _ now: GrantRecord
    ) async throws(CofferError) -> RefreshOutcome {
        let end = end(byPolicy: now)
        try await store.setTokensAside(grant, clock: clock)
        try await store.removeTokens(grant)
        let record = try await store.update(grant) { (record) throws(CofferError) in
            end.note(.expired, in: &record)
        }
        let error = record.obstacle ?? GrantStore.signInNeeded
        events?.post(.expired, grant, error)
        try await end.apply(.expired, to: grant)
        return .expired(error)
    }

    /// Sends the refresh token and stores the answer. The caller must hold the lease.
    private func refresh(
        _ grant: GrantID, _ now: Snapshot, _ endpoint: any TokenEndpoint
    ) async throws(CofferError) -> RefreshOutcome {
        guard let current = try await store.refreshToken(grant),
            current.info.attributes[GrantAccess.generation]?.hasSameBytes(as: now.record.generation) == true
        else { throw GrantStore.signInNeeded }
        guard let version = current.info.version else {
            throw CofferError(
                .locked, "The session's newest token is pending until the next unlock.", remedy: .unlockVault)
        }
        guard !Task.isCancelled else {
            throw CofferError(.cancelled, "The renewal of the tokens was cancelled.")
        }
        let earlier = now.record.state.intent
        let isRepeated = try earlier?.isAbout(current.token, version: version) ?? false
        // The note of an older version was answered: a process died after it had stored the new token.
        let intent: RefreshIntent
        if let earlier, isRepeated {
            intent = earlier.counting(1)
        } else {
            intent = try RefreshIntent(current.token, version: version, clock)
        }
        try await store.keepTokensInUse(grant)
        let ballast = min(max(Self.leastBallast, 2 * now.record.answerSize), Self.mostBallast)
        var record = try await store.update(grant, ballast: ballast) { (record) throws(CofferError) in
            record.state = .refreshing(intent)
            record.exchanges &+= 1
        }
        var exchange = RefreshExchange(
            current.token, endpoint, firstAttempt: intent.attempt, isUnanswered: isRepeated, clock: clock,
            sleep: sleep)
        let result = await exchange.run {
            let info = try? await store.tokens.info(for: current.info.id)
            return info?.version == version
        }
        let last = intent.counting(exchange.count - 1)
        if case .answer(let response, let sent) = result {
            record.clockSkew = endpoint.clockSkew ?? record.clockSkew
            return try await keep(response, sent, over: current, record, grant)
        }
        let judged = await judged(result, grant, record)
        return try await settle(judged, grant, exchange.isUnanswered ? .uncertain(last) : .paired)
    }

    /// Returns a loss in place of a refusal that may be no revocation: this program may have caused it, or a
    /// copy of the vault may have spent the token.
    private func judged(
        _ result: RefreshExchange.Result, _ grant: GrantID, _ record: GrantRecord
    ) async -> RefreshExchange.Result {
        guard case .revoked(let error) = result else { return result }
        let latest = (try? await store.record(grant)) ?? record
        let isOwn = latest.ownRevocation != nil
        guard isOwn || !latest.keepsRefreshToken else { return result }
        return .lost(GrantRecord.lost(error.serverCode, byOwnRevocation: isOwn))
    }

    /// The least number of bytes that hold space for an answer.
    private static let leastBallast = 16 << 10
    private static let mostBallast = 512 << 10

    /// Notes what requests without new tokens led to, and responds to the end of a session.
    private func settle(
        _ result: RefreshExchange.Result, _ grant: GrantID, _ state: GrantRecord.State
    ) async throws(CofferError) -> RefreshOutcome {
        switch result {
        case .answer, .superseded:
            try await store.update(grant) { (record) throws(CofferError) in record.state = .paired }
            return .current
        case .uncertain(let error):
            await note(state, error, grant)
            events?.post(.uncertain, grant, error)
            return .uncertain(error)
        case .refused(let error):
            await note(state, error, grant)
            events?.post(.refreshFailed, grant, error)
            return .refused(error)
        case .lost(let error):
            await note(.lost, error, grant)
            events?.post(.lost, grant, error)
            try await sessionEnd.apply(.lost, to: grant)
            return .lost(error)
        case .revoked(let error):
            await note(.revoked, error, grant)
            events?.post(.revoked, grant, error)
            try await sessionEnd.apply(.revoked, to: grant)
            return .revoked(error)
        }
    }

    /// Notes a failure. If it cannot be stored, the note of the attempt stays, and the token is sent again.
    func note(_ state: GrantRecord.State, _ error: CofferError, _ grant: GrantID) async {
        let end = sessionEnd
        _ = try? await store.update(grant) { (record) throws(CofferError) in
            end.note(state, in: &record)
            record.failure = error.message
        }
    }
}
