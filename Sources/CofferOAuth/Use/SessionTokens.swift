package import Coffer
package import CofferBase

/// The access tokens of one session in a vault, renewed by the refresh machine.
package struct SessionTokens: AccessTokenSource {
    private let grant: GrantID
    private let store: GrantStore
    private let machine: RefreshMachine
    private let endpoint: any TokenEndpoint
    private let clock: VaultClock

    /// Creates the tokens of a session.
    ///
    /// - Parameters:
    ///   - grant: The session.
    ///   - store: The sessions of the vault.
    ///   - machine: The machine that renews the tokens, with the policies of the session.
    ///   - endpoint: The server's token endpoint.
    ///   - clock: The clock.
    package init(
        _ grant: GrantID, store: GrantStore, machine: RefreshMachine, endpoint: any TokenEndpoint,
        clock: VaultClock
    ) {
        self.grant = grant
        self.store = store
        self.machine = machine
        self.endpoint = endpoint
        self.clock = clock
    }

    /// Returns the record of a session that may be used.
    private func record() async throws(CofferError) -> GrantRecord {
        guard let record = try await store.record(grant) else { throw GrantStore.signInNeeded }
        if let obstacle = record.obstacle { throw obstacle }
        return record
    }

    private func live(_ access: GrantAccess, isRenewalTried: Bool) -> LiveToken {
        LiveToken(
            access.token, info: access.info, remaining: access.remaining(clock),
            isRenewalTried: isRenewalTried)
    }

    /// Returns the stored access token if it is alive and not about to be renewed; `nil` otherwise.
    package func stored() async throws(CofferError) -> LiveToken? {
        let record = try await record()
        let hasEnded = machine.policies.contains {
            $0.hasEnded(record, isRenewal: false, clock: clock)
        }
        guard !hasEnded, let access = try await store.accessToken(grant, of: record), !access.isDue(clock)
        else { return nil }
        return live(access, isRenewalTried: false)
    }

    /// Returns an access token that lives at least for `minimumLife`. If it cannot be renewed now, the stored
    /// one is returned while it is alive.
    package func current(minimumLife: Duration) async throws(CofferError) -> LiveToken {
        let need = RefreshNeed.due(minimumLife: minimumLife)
        let outcome: RefreshOutcome
        do throws(CofferError) {
            outcome = try await machine.run(grant, endpoint: endpoint, need: need)
        } catch {
            return try await survivor(of: error)
        }
        switch outcome {
        case .current, .refreshed: return try await result(of: outcome)
        case .refused(let error), .uncertain(let error), .suspended(let error):
            return try await survivor(of: error)
        case .lost(let error), .revoked(let error), .expired(let error): throw error
        }
    }

    /// Returns an access token that replaces a refused one.
    package func renewed(after refused: LiveToken) async throws(CofferError) -> LiveToken {
        let outcome = try await machine.run(
            grant, endpoint: endpoint, need: .rejected(version: refused.info.version))
        if let error = outcome.error { throw error }
        return try await result(of: outcome)
    }

    /// Returns the access token after a success.
    private func result(of outcome: RefreshOutcome) async throws(CofferError) -> LiveToken {
        let record = try await record()
        // Only an idle session's policy needs the time of the last use, and it must not prevent that use.
        try? await store.noteUse(grant, of: record, policies: machine.policies, clock: clock)
        guard let access = try await store.accessToken(grant, of: record) else {
            throw GrantStore.signInNeeded
        }
        if case .refreshed = outcome { return live(access, isRenewalTried: true) }
        return live(access, isRenewalTried: false)
    }

    /// Returns the stored access token if it is still alive after a failure; throws the failure otherwise.
    private func survivor(of error: CofferError) async throws(CofferError) -> LiveToken {
        switch error.code {
        case .locked, .wiped, .corrupt, .unsupportedVersion, .cancelled: throw error
        default: break
        }
        guard let access = try await store.accessToken(grant, of: record()), access.isAlive(clock) else {
            throw error
        }
        return live(access, isRenewalTried: true)
    }

    // MARK: Ends

    /// Notes that the user's access was taken away, and applies the policy to the account's data.
    package func serverRevoked(reason: String) async throws(CofferError) {
        try await store.tokens.withRefreshLease(
            of: grant.tokenID(.refresh), deadline: GrantStore.leaseDeadline
        ) { () async throws(CofferError) in
            let record = try await store.update(grant) { (record) throws(CofferError) in
                machine.sessionEnd.note(.revoked, in: &record)
            }
            machine.events?.post(.revoked, grant, record.obstacle)
            try await machine.sessionEnd.apply(.revoked, to: grant, reason: reason)
        }
    }
}
