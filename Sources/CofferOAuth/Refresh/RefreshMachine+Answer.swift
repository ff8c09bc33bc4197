import Coffer
import CofferBase

/// Storing an answer: the refresh token first, because its predecessor is spent.
extension RefreshMachine {
    /// Stores an answer's tokens and ends the note of the attempt. The caller must hold the lease.
    func keep(
        _ response: TokenResponse, _ sent: ClockStamp, over current: StoredToken, _ record: GrantRecord,
        _ grant: GrantID
    ) async throws(CofferError) -> RefreshOutcome {
        guard !response.hasInvalidRefreshToken else { return await suspend(response, record, grant) }
        let new = GrantTokens(
            grant: grant, response: response, sent: sent, assumedLife: profile.assumedLife,
            protection: current.info.protection)
        let isQueued = try await keepRefreshToken(of: new, over: current, record)
        let suspension = await suspension(of: response, record)
        var changed = record
        changed.state = .paired
        changed.lastRefresh = sent
        changed.keepsRefreshToken = response.refreshToken?.hasSameBytes(as: current.token) ?? true
        changed.failure = suspension?.message
        changed.answerSize = new.size
        if suspension == nil {
            changed.scopes = response.scopes ?? record.scopes
            changed.instanceURL = response.instanceURL ?? record.instanceURL
            changed.identityURL = response.identityURL ?? record.identityURL
        }
        do throws(CofferError) {
            if suspension == nil { try await store.putAccess(of: new, changed) }
            try await store.update(grant) { [changed] (stored) throws(CofferError) in
                let lastUse = stored.lastUse
                let ownRevocation = stored.ownRevocation
                stored = changed
                stored.lastUse = lastUse
                stored.ownRevocation = ownRevocation.flatMap { hasPassed($0) ? nil : $0 }
            }
        } catch {
            guard isQueued, error.code == .locked else { throw error }
        }
        return try report(suspension, isQueued: isQueued, from: record, to: changed, grant)
    }

    /// The time after which a server that still renews the session has not ended it with an earlier request
    /// to revoke another token: longer than both requests can take.
    private static let settledTime = Duration.seconds(300)

    private func hasPassed(_ revocation: ClockStamp) -> Bool {
        (revocation.elapsed(clock) ?? .zero) >= Self.settledTime
    }

    /// Notes an answer whose refresh token cannot be stored. The server may have spent the stored one, so the
    /// note of the attempt stays: if the server refuses the stored one later, the session is lost, not
    /// revoked.
    private func suspend(
        _ response: TokenResponse, _ record: GrantRecord, _ grant: GrantID
    ) async -> RefreshOutcome {
        let error = CofferError(
            .serverMalformed, response.defect ?? "The server's answer contains no valid refresh token.")
        if let intent = record.state.intent { await note(.uncertain(intent), error, grant) }
        events?.post(.refreshFailed, grant, error)
        return .suspended(error)
    }

    private func report(
        _ suspension: CofferError?, isQueued: Bool, from old: GrantRecord, to new: GrantRecord,
        _ grant: GrantID
    ) throws(CofferError) -> RefreshOutcome {
        if let suspension {
            events?.post(.refreshFailed, grant, suspension)
        } else {
            events?.post(.refreshed, grant)
            let isSame = (new.instanceURL ?? "").hasSameBytes(as: old.instanceURL ?? "")
            if !isSame { events?.post(.instanceChanged, grant) }
        }
        guard !isQueued else {
            throw CofferError(
                .locked,
                "The vault was locked during the renewal, so the new tokens are pending until the next "
                    + "unlock.", remedy: .unlockVault)
        }
        if let suspension { return .suspended(suspension) }
        return .refreshed
    }

    /// Stores the new refresh token and reads it back. If the server sent none, the old one stays and gets a
    /// new version, which shows that the attempt was answered.
    ///
    /// - Returns: Whether the vault was locked in the meantime, so that the token is pending.
    private func keepRefreshToken(
        of new: GrantTokens, over current: StoredToken, _ record: GrantRecord
    ) async throws(CofferError) -> Bool {
        let token = new.response.refreshToken ?? current.token
        var waits = RefreshExchange.waits[...]
        var mayFreeSpace = true
        while true {
            do throws(CofferError) {
                let version = current.info.version.map { Precondition.version($0) } ?? .any
                guard try await put(token, over: current, version) else { return true }
                guard let stored = try await store.tokens.get(current.info.id),
                    stored.token.hasSameBytes(as: token)
                else { throw GrantStore.notAsWritten }
                return false
            } catch {
                switch error.code {
                case .conflict:
                    if let stored = try await store.tokens.get(current.info.id),
                        stored.token.hasSameBytes(as: token), stored.info.version != current.info.version
                    {
                        // The change took effect, although its answer was lost.
                        return false
                    }
                    await setAside(new, record)
                    throw error
                case .noSpace where mayFreeSpace:
                    mayFreeSpace = false
                    try await store.update(new.grant) { (_) throws(CofferError) in }
                case .busy, .interrupted, .timedOut, .inputOutput, .keyringUnavailable:
                    // The token exists in this memory only: a cancelled caller waits, too.
                    guard let wait = waits.popFirst() else { throw error }
                    let sleep = sleep
                    _ = await Task { await sleep(wait) }.value
                default: throw error
                }
            }
        }
    }

    /// Stores the refresh token; returns `false` if it is pending until the next unlock.
    private func put(
        _ token: Token, over current: StoredToken, _ precondition: Precondition
    ) async throws(CofferError) -> Bool {
        let info = current.info
        do throws(CofferError) {
            return try await store.tokens.put(
                token, for: info.id, class: info.protection, scopes: info.scopes, attributes: info.attributes,
                precondition: precondition
            ).version != nil
        } catch {
            guard error.code == .locked, precondition != .any else { throw error }
            return try await put(token, over: current, .any)
        }
    }

    /// Puts the tokens of an answer aside that belongs to a session that was replaced or removed. A failure
    /// is not an error: the server ends such tokens in time.
    private func setAside(_ new: GrantTokens, _ record: GrantRecord) async {
        let added = clock.wallClock()
        var entries: [PendingRevocation] = []
        if let token = new.response.refreshToken {
            entries.append(PendingRevocation(.refresh, token, of: record, added: added))
        }
        if let token = new.response.accessToken, record.storage == .all {
            entries.append(PendingRevocation(.access, token, of: record, added: added))
        }
        try? await store.addPendingRevocations(entries, of: new.grant)
    }

    /// Returns the reason why the new access token must not be used; `nil` if it can be used.
    private func suspension(of response: TokenResponse, _ record: GrantRecord) async -> CofferError? {
        do throws(CofferError) {
            _ = try response.usableAccessToken()
            if let scopes = response.scopes, !record.scopes.isEmpty {
                guard scopes.allSatisfy({ OAuthScopes.covers($0, by: record.scopes) }) else {
                    throw CofferError(
                        .serverMalformed, "The server granted more scopes than the user agreed to.")
                }
            }
            try profile.check(instance: response.instanceURL)
            try await check(response, record)
            return nil
        } catch {
            return error
        }
    }
}
