import Coffer
import CofferBase

/// The end of a session: its state is noted first, then a policy is applied to the account's data.
///
/// If a process dies between both, the state says that data is still to be erased, and the next use or the
/// next start erases it.
struct SessionEnd: Sendable {
    let store: GrantStore
    /// The response if the server revoked the session.
    var onRevocation = RevocationPolicy.wipe(.account)
    /// The response if the session is lost.
    var onLost = RevocationPolicy.lock
    /// The response if the session's time is over.
    var onExpiry = RevocationPolicy.keep
    /// The source of the events; `nil` for none.
    var events: OAuthEventSource?

    /// Changes a record into that of a session that has ended.
    func note(_ state: GrantRecord.State, in record: inout GrantRecord) {
        record.state = state
        record.isErasureDue = erases(state)
    }

    /// Whether the policy for the end of a session erases data.
    private func erases(_ state: GrantRecord.State) -> Bool {
        let policy: RevocationPolicy
        switch state {
        case .lost: policy = onLost
        case .revoked: policy = onRevocation
        case .expired: policy = onExpiry
        case .paired, .refreshing, .uncertain, .leaving: return false
        }
        if case .wipe = policy { return true }
        return false
    }

    /// Responds to an end that was noted. The caller must hold the lease.
    func apply(
        _ state: GrantRecord.State, to grant: GrantID, reason: String? = nil
    ) async throws(CofferError) {
        let isErasing = erases(state)
        // Another policy now applies than the one that was noted, and locking would prevent the change.
        if !isErasing, (try? await isErasureDue(grant)) == true { try? await settle(grant) }
        switch state {
        case .lost: try await respondToLoss(of: grant)
        case .revoked: try await respond(onRevocation, grant, reason ?? "the server revoked a session")
        case .expired where onExpiry == .keep: break
        case .expired: try await respond(onExpiry, grant, reason ?? "the session's time is over")
        case .paired, .refreshing, .uncertain, .leaving: break
        }
        // Without this change, the same data would be erased once more. The vault itself may be gone.
        if isErasing { try? await settle(grant) }
    }

    /// Erases what a process that died had to erase.
    ///
    /// - Parameter grant: The session.
    /// - Throws: `timedOut` if another caller's renewal of the session does not end; `locked`, `wiped`,
    ///   `busy`, `noSpace` or `readOnly`.
    func resume(_ grant: GrantID) async throws(CofferError) {
        guard try await isErasureDue(grant) else { return }
        try await store.tokens.withRefreshLease(
            of: grant.tokenID(.refresh), deadline: GrantStore.leaseDeadline
        ) { () async throws(CofferError) in
            guard let record = try await store.record(grant), record.isErasureDue else { return }
            try await apply(record.state, to: grant)
        }
    }

    private func isErasureDue(_ grant: GrantID) async throws(CofferError) -> Bool {
        do throws(CofferError) {
            return try await store.record(grant)?.isErasureDue == true
        } catch {
            // A state that cannot be read demands nothing, and does not keep the user from signing in.
            guard error.code == .corrupt || error.code == .unsupportedVersion else { throw error }
            return false
        }
    }

    private func settle(_ grant: GrantID) async throws(CofferError) {
        try await store.update(grant) { (record) throws(CofferError) in record.isErasureDue = false }
    }

    private func respond(
        _ policy: RevocationPolicy, _ grant: GrantID, _ reason: String
    ) async throws(CofferError) {
        let outcome = try await store.tokens.applyRevocation(policy, to: grant.tokenAccount, reason: reason)
        guard case .accountWiped(let wiped) = outcome, wiped.namespace != nil else { return }
        events?.reportErasure(of: grant)
    }

    private func respondToLoss(of grant: GrantID) async throws(CofferError) {
        switch onLost {
        case .keep: return
        case .lock: store.vault.lock()
        case .wipe: try await respond(onLost, grant, "a session was lost")
        }
    }
}
