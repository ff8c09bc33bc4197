package import Coffer
package import CofferBase
package import CofferCrypto
import FoundationEssentials

/// The tokens of an answer, and how they are stored.
struct GrantTokens {
    let grant: GrantID
    let response: TokenResponse
    /// The time at which the request was sent.
    let sent: ClockStamp
    /// The life of an access token whose life the server did not say.
    let assumedLife: Duration
    let protection: ProtectionClass

    /// The size of the tokens in bytes.
    var size: Int {
        [response.accessToken, response.refreshToken, response.idToken].reduce(1024) { $0 + ($1?.count ?? 0) }
    }
}

extension GrantStore {
    /// Stores the tokens of a sign-in: the refresh token first, which is read back. The tokens of an earlier
    /// session of the same account are put aside to be revoked.
    ///
    /// A crash leaves the earlier session if the new refresh token was not stored, and otherwise the new one.
    ///
    /// - Parameters:
    ///   - response: The answer, whose id token the caller has verified.
    ///   - record: The state of the session.
    ///   - dpopKey: The private key to which the tokens are bound; `nil` if they are bound to none.
    ///   - grant: The session's ID.
    ///   - storage: The tokens to store, the same as in the record.
    ///   - protection: The class of the stored rows.
    ///   - assumedLife: The life of an access token whose life the server did not say.
    ///   - sent: The time at which the request was sent; `nil` for the time of the sign-in.
    ///   - clock: The clock.
    /// - Returns: The stored state.
    /// - Throws: `serverMalformed` if the access token must not be used; `corrupt` if what was stored is not
    ///   what can be read; `timedOut` if a refresh of the earlier session does not end; `locked`, `wiped`,
    ///   `busy`, `noSpace` or `readOnly`.
    @discardableResult
    package func storeNew(
        _ response: TokenResponse, record: GrantRecord, dpopKey: consuming SecretBytes?,
        for grant: GrantID, storage: GrantStorage,
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly,
        assumedLife: Duration = .seconds(7200), sent: ClockStamp? = nil, clock: VaultClock
    ) async throws(CofferError) -> GrantRecord {
        let key: Token?
        switch consume dpopKey {
        case .some(let bytes): key = try Token(bytes)
        case .none: key = nil
        }
        guard storage == record.storage else {
            throw CofferError(.invalidInput, "The session's record names another storage.")
        }
        _ = try response.usableAccessToken()
        let new = GrantTokens(
            grant: grant, response: response, sent: sent ?? record.signedIn, assumedLife: assumedLife,
            protection: protection)
        var record = record
        record.state = .paired
        record.hasDPoPKey = key != nil
        record.answerSize = new.size
        record.instanceURL = response.instanceURL ?? record.instanceURL
        record.identityURL = response.identityURL ?? record.identityURL
        let part = GrantRow.Part(record: record, dpopKey: key)
        try await tokens.withRefreshLease(of: grant.tokenID(.refresh), deadline: Self.leaseDeadline) {
            () async throws(CofferError) in
            try await replace(with: new, part, clock)
        }
        return record
    }

    /// Replaces the session. The caller must hold the lease.
    private func replace(
        with new: GrantTokens, _ part: GrantRow.Part, _ clock: VaultClock
    ) async throws(CofferError) {
        let grant = new.grant
        try vault.requireKey(forStoring: new.protection)
        try await setTokensAside(grant, clock: clock)
        let refresh = part.record.storage == .memory ? nil : new.response.refreshToken
        if let refresh {
            try await put(part, isNext: true, new)
            try await put(refresh: refresh, part.record, new)
        } else {
            // The earlier refresh token must not be taken for one of the new session.
            try await tokens.remove(grant.tokenID(.refresh))
        }
        try await put(part, isNext: false, new)
        guard try await record(grant)?.generation.hasSameBytes(as: part.record.generation) == true else {
            throw Self.notAsWritten
        }
        try await putAccess(of: new, part.record)
    }

    /// Returns the stored row; `nil` if there is none or if it cannot be read.
    private func readableRow(_ grant: GrantID) async throws(CofferError) -> GrantRow? {
        do throws(CofferError) {
            return try await row(grant)?.row
        } catch {
            guard error.code == .corrupt else { throw error }
            return nil
        }
    }

    /// Stores the new session in the row: beside the earlier one, or in place of everything. Without the
    /// lease, others note there that they use a session, or that they revoke a token of its client. Then the
    /// row is made again, with their note.
    private func put(
        _ part: GrantRow.Part, isNext: Bool, _ new: GrantTokens
    ) async throws(CofferError) {
        let grant = new.grant
        var conflicts = 0
        while true {
            let version = try await tokens.info(for: grant.grantRow)?.version
            let stored = try await readableRow(grant)
            var row = GrantRow(current: stored?.noted(part) ?? part)
            if isNext {
                let info = try await tokens.info(for: grant.tokenID(.refresh))
                row.next = row.current
                row.current = stored?.part(for: info?.attributes[GrantAccess.generation])
            }
            do throws(CofferError) {
                try await tokens.putReserved(
                    row.encoded(ballast: 0), for: grant.grantRow, class: new.protection,
                    isEphemeral: part.record.storage == .memory,
                    precondition: version.map { .version($0) } ?? .absent)
                return
            } catch {
                conflicts += 1
                guard error.code == .conflict, conflicts < Self.maxConflicts else { throw error }
            }
        }
    }

    private func put(
        refresh: Token, _ record: GrantRecord, _ new: GrantTokens
    ) async throws(CofferError) {
        let id = try new.grant.tokenID(.refresh)
        try await tokens.put(
            refresh, for: id, class: new.protection, scopes: record.scopes,
            attributes: [GrantAccess.generation: record.generation])
        guard let stored = try await tokens.get(id), stored.token.hasSameBytes(as: refresh) else {
            throw Self.notAsWritten
        }
    }

    /// The error for a row that differs from what was written.
    static var notAsWritten: CofferError {
        CofferError(.corrupt, "A stored token differs from the new token that was written.")
    }

    /// Stores the access and the id token of an answer. Those of an earlier session are removed.
    func putAccess(of new: GrantTokens, _ record: GrantRecord) async throws(CofferError) {
        let (accessID, idID) = (try new.grant.tokenID(.access), try new.grant.tokenID(.id))
        if let access = new.response.accessToken {
            let life = Int64(new.response.lifetime ?? Int(new.assumedLife.components.seconds))
            let end = Double(new.sent.wall) / 1000 + Double(life)
            try await tokens.put(
                access, for: accessID, class: new.protection, expires: Date(timeIntervalSince1970: end),
                scopes: record.scopes,
                attributes: GrantAccess.attributes(
                    of: record.generation, sent: new.sent, life: life,
                    isDPoP: new.response.tokenType == .dpop),
                isEphemeral: record.storage != .all)
        } else {
            try await tokens.remove(accessID)
        }
        guard let idToken = new.response.idToken else { return }
        try await tokens.put(
            idToken, for: idID, class: new.protection, scopes: [],
            attributes: [GrantAccess.generation: record.generation], isEphemeral: record.storage != .all)
    }
}
