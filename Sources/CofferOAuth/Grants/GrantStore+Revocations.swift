package import Coffer
package import CofferBase

/// The tokens that the server is still to revoke.
extension GrantStore {
    /// Returns the tokens that are to be revoked. A token that is in use again is not among them: a crash can
    /// put it there before its successor is stored.
    ///
    /// - Throws: `corrupt` or `unsupportedVersion` if the list cannot be read; `locked` or `wiped`.
    package func pendingRevocations(_ grant: GrantID) async throws(CofferError) -> [PendingRevocation] {
        guard try await tokens.info(for: grant.revokeRow) != nil else { return [] }
        // Read before and after the list, because another caller can replace the tokens in between.
        let before = try await tokensInUse(grant)
        guard let stored = try await tokens.get(grant.revokeRow), !stored.info.isStoredWhileLocked else {
            return []
        }
        let after = try await tokensInUse(grant)
        return try await entries(in: stored.token, grant).filter { entry in
            !before.contains { entry.isOf($0) } && !after.contains { entry.isOf($0) }
        }
    }

    /// Returns the tokens of a session that may be used; none if there is no such session.
    private func tokensInUse(_ grant: GrantID) async throws(CofferError) -> [Token] {
        guard let record = try await record(grant), record.obstacle == nil else { return [] }
        var used: [Token] = []
        if let refresh = try await tokens.get(grant.tokenID(.refresh)) { used.append(refresh.token) }
        // The access token of an earlier sign-in can still be stored.
        if let access = try await accessToken(grant, of: record) { used.append(access.token) }
        return used
    }

    /// Takes the tokens in use off the list of those to revoke, where a sign-in that died has put them. A
    /// renewal does this before it replaces them: with a token that was spent, servers end the whole session.
    /// The caller must hold the lease.
    ///
    /// - Throws: `locked`, `wiped`, `busy` or `noSpace`.
    func keepTokensInUse(_ grant: GrantID) async throws(CofferError) {
        // A damaged list must not prevent a renewal.
        guard let stored = try? await tokens.get(grant.revokeRow), !stored.info.isStoredWhileLocked,
            let waiting = try? await entries(in: stored.token, grant)
        else { return }
        let used = try await tokensInUse(grant)
        for entry in waiting where used.contains(where: { entry.isOf($0) }) {
            try await removePendingRevocation(entry, of: grant)
        }
    }

    /// Reads a list. Tokens without an issuer, which an earlier release put aside, have that of the session.
    private func entries(
        in list: Token, _ grant: GrantID
    ) async throws(CofferError) -> [PendingRevocation] {
        guard PendingRevocation.isOlder(list) else {
            return try PendingRevocation.decoded(list, issuerOfOlder: nil)
        }
        var issuer: String?
        do throws(CofferError) {
            issuer = try await record(grant)?.issuer
        } catch {
            guard error.code == .corrupt || error.code == .unsupportedVersion else { throw error }
        }
        return try PendingRevocation.decoded(list, issuerOfOlder: issuer)
    }

    /// Returns the record of the sign-in to which a stored token belongs; `nil` if it cannot be told.
    func origin(of token: StoredToken, _ grant: GrantID) async throws(CofferError) -> GrantRecord? {
        guard let generation = token.info.attributes[GrantAccess.generation] else { return nil }
        do throws(CofferError) {
            let stored = try await self.row(grant)?.row
            return [stored?.current, stored?.next].compactMap { $0?.record }
                .first { $0.generation.hasSameBytes(as: generation) }
        } catch {
            guard error.code == .corrupt || error.code == .unsupportedVersion else { throw error }
            return nil
        }
    }

    /// Puts tokens aside until the server has revoked them. Tokens that are already there are not added
    /// twice; beyond ``PendingRevocation/maxCount``, the oldest ones are dropped. A list that an earlier
    /// release stored gets the issuer of the session that is stored now, so call this before another one is.
    ///
    /// - Throws: `locked`, `wiped`, `busy` or `noSpace`; `corrupt` if the row of the list is damaged;
    ///   `unsupportedVersion` if a newer release stored it.
    package func addPendingRevocations(
        _ entries: [PendingRevocation], of grant: GrantID
    ) async throws(CofferError) {
        try await updatePendingRevocations(grant) { all in
            let new = entries.filter { entry in !all.contains { $0.isOf(entry.token) } }
            all += new
            PendingRevocation.makeRoom(in: &all)
            return !new.isEmpty
        }
    }

    /// Removes a token that the server has revoked, or for which the time is over.
    ///
    /// - Throws: `locked`, `wiped`, `busy` or `noSpace`.
    package func removePendingRevocation(
        _ entry: PendingRevocation, of grant: GrantID
    ) async throws(CofferError) {
        try await updatePendingRevocations(grant) { all in
            let count = all.count
            all.removeAll { $0.isOf(entry.token) }
            return all.count != count
        }
    }

    /// Changes the list by a closure that returns whether it made a change.
    private func updatePendingRevocations(
        _ grant: GrantID, _ change: (inout [PendingRevocation]) -> Bool
    ) async throws(CofferError) {
        var conflicts = 0
        while true {
            let stored = try await tokens.get(grant.revokeRow)
            var all: [PendingRevocation] = []
            var isOlder = false
            // A damaged list, or one from elsewhere, is replaced; one of a newer release is not.
            if let stored, !stored.info.isStoredWhileLocked {
                do throws(CofferError) {
                    all = try await entries(in: stored.token, grant)
                    isOlder = PendingRevocation.isOlder(stored.token)
                } catch {
                    guard error.code == .corrupt else { throw error }
                }
            }
            guard change(&all) || isOlder else { return }
            do throws(CofferError) {
                if all.isEmpty {
                    guard let version = stored?.info.version else { return }
                    try await tokens.remove(grant.revokeRow, ifVersion: version)
                    return
                }
                // The row outlives the session, so its class is not the session's.
                return try await tokens.putReserved(
                    PendingRevocation.encoded(all), for: grant.revokeRow,
                    class: stored?.info.protection ?? .whenUnlockedThisDeviceOnly,
                    precondition: stored?.info.version.map { .version($0) } ?? .absent)
            } catch {
                conflicts += 1
                guard error.code == .conflict, conflicts < Self.maxConflicts else { throw error }
            }
        }
    }

    /// Notes in every session of a client that a token of the client is now sent to be revoked, so that a
    /// refusal that follows from it is not taken for the server's own revocation.
    ///
    /// - Parameters:
    ///   - issuer: The issuer of the token.
    ///   - clientID: The client's ID.
    ///   - clock: The clock.
    /// - Throws: `locked`, `wiped`, `busy`, `noSpace` or `readOnly`, after which nothing must be sent.
    func noteOwnRevocation(
        issuer: String, clientID: String, clock: VaultClock
    ) async throws(CofferError) {
        for grant in try await list() {
            do throws(CofferError) {
                guard let record = try await record(grant), record.obstacle == nil,
                    record.issuer.hasSameBytes(as: issuer),
                    record.clientID?.hasSameBytes(as: clientID) != false
                else { continue }
                try await update(grant) { (record) throws(CofferError) in
                    record.ownRevocation = ClockStamp(clock)
                }
            } catch {
                // A session that is gone or cannot be read is not renewed either.
                guard [.corrupt, .unsupportedVersion, .signInNeeded].contains(error.code) else { throw error }
            }
        }
    }

    /// Puts a session's stored tokens aside until the server has revoked them. A token that is only in memory
    /// is not stored for that.
    ///
    /// - Throws: `locked`, `wiped`, `busy` or `noSpace`.
    package func setTokensAside(_ grant: GrantID, clock: VaultClock) async throws(CofferError) {
        var entries: [PendingRevocation] = []
        for kind in [TokenKind.refresh, .access] {
            guard let stored = try await tokens.get(grant.tokenID(kind)), !stored.info.isStoredWhileLocked,
                !stored.info.isEphemeral
            else { continue }
            let origin = try await origin(of: stored, grant)
            entries.append(
                PendingRevocation(kind, stored.token, of: origin, added: clock.wallClock()))
        }
        try await addPendingRevocations(entries, of: grant)
    }
}
