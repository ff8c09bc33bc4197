package import Coffer
package import CofferBase

/// The sessions in a vault: their states and their tokens.
package struct GrantStore: Sendable {
    /// The vault.
    package let vault: Vault
    var tokens: TokenStore { vault.tokens }

    /// The time for which callers wait for another one's refresh or sign-in.
    static let leaseDeadline = Duration.seconds(60)
    /// The number of changes at the same time after which a change fails.
    static let maxConflicts = 16

    /// Creates a store of a vault's sessions.
    package init(_ vault: Vault) { self.vault = vault }

    /// A stored row with its description.
    struct StoredRow {
        var row: GrantRow
        let version: UInt64
        let protection: ProtectionClass
        let isEphemeral: Bool
    }

    /// Returns a session's row; `nil` if there is none.
    func row(_ grant: GrantID) async throws(CofferError) -> StoredRow? {
        guard let stored = try await tokens.get(grant.grantRow) else { return nil }
        // A value that was stored while the vault was locked did not come from this library.
        guard let version = stored.info.version, !stored.info.isStoredWhileLocked else { return nil }
        return StoredRow(
            row: try GrantRow(decoding: stored.token), version: version,
            protection: stored.info.protection, isEphemeral: stored.info.isEphemeral)
    }

    /// Returns the part of a row to which the stored refresh token belongs.
    private func part(of row: GrantRow, _ grant: GrantID) async throws(CofferError) -> GrantRow.Part? {
        guard row.next != nil else { return row.current }
        let info = try await tokens.info(for: grant.tokenID(.refresh))
        return row.part(for: info?.attributes[GrantAccess.generation])
    }

    /// Returns a session's state; `nil` if there is no session.
    ///
    /// - Throws: `corrupt` or `unsupportedVersion` if the state cannot be read; `locked` or `wiped`.
    package func record(_ grant: GrantID) async throws(CofferError) -> GrantRecord? {
        guard let stored = try await row(grant) else { return nil }
        return try await part(of: stored.row, grant)?.record
    }

    /// Returns the private key to which a session's tokens are bound; `nil` if they are bound to none.
    package func dpopKey(_ grant: GrantID) async throws(CofferError) -> Token? {
        guard let stored = try await row(grant) else { return nil }
        return try await part(of: stored.row, grant)?.dpopKey
    }

    /// Returns a session's refresh token; `nil` if there is none.
    package func refreshToken(_ grant: GrantID) async throws(CofferError) -> StoredToken? {
        guard let stored = try await tokens.get(grant.tokenID(.refresh)), !stored.info.isStoredWhileLocked
        else { return nil }
        return stored
    }

    /// Returns a session's access token, which may have expired; `nil` if there is none.
    package func accessToken(_ grant: GrantID) async throws(CofferError) -> GrantAccess? {
        guard let record = try await record(grant) else { return nil }
        return try await accessToken(grant, of: record)
    }

    /// Returns the access token of a session whose record the caller has read.
    func accessToken(_ grant: GrantID, of record: GrantRecord) async throws(CofferError) -> GrantAccess? {
        guard let stored = try await tokens.get(grant.tokenID(.access)), !stored.info.isStoredWhileLocked
        else { return nil }
        return GrantAccess(stored, of: record.generation)
    }

    /// Returns a session's id token, which was verified before it was stored; `nil` if there is none.
    package func idToken(_ grant: GrantID) async throws(CofferError) -> Token? {
        guard let record = try await record(grant), let stored = try await tokens.get(grant.tokenID(.id)),
            let own = stored.info.attributes[GrantAccess.generation],
            own.hasSameBytes(as: record.generation), !stored.info.isStoredWhileLocked
        else { return nil }
        return stored.token
    }

    /// Changes a session's state. If another caller changes it at the same time, `change` is called again
    /// with the new state.
    ///
    /// - Parameters:
    ///   - grant: The session.
    ///   - ballast: The number of bytes that hold space on the disk.
    ///   - change: A closure that changes the state.
    /// - Returns: The changed state.
    /// - Throws: `signInNeeded` if there is no session; `locked`, `wiped`, `busy`, `noSpace` or `readOnly`;
    ///   or the error that `change` throws.
    @discardableResult
    package func update(
        _ grant: GrantID, ballast: Int = 0, _ change: (inout GrantRecord) throws(CofferError) -> Void
    ) async throws(CofferError) -> GrantRecord {
        var conflicts = 0
        while true {
            guard let stored = try await row(grant), var part = try await part(of: stored.row, grant) else {
                throw Self.signInNeeded
            }
            try change(&part.record)
            // A sign-in that is not finished stays, unless it is the one that is changed.
            let other = stored.row.next.flatMap { next in
                next.record.generation.hasSameBytes(as: part.record.generation) ? nil : next
            }
            do throws(CofferError) {
                try await tokens.putReserved(
                    GrantRow(current: part, next: other).encoded(ballast: ballast), for: grant.grantRow,
                    class: stored.protection, isEphemeral: stored.isEphemeral,
                    precondition: .version(stored.version))
                return part.record
            } catch {
                conflicts += 1
                guard error.code == .conflict, conflicts < Self.maxConflicts else { throw error }
            }
        }
    }

    /// Notes that a session is used, at most once in a tenth of the policy's idle time.
    ///
    /// - Throws: The errors of ``update(_:ballast:_:)``.
    package func noteUse(
        _ grant: GrantID, of record: GrantRecord, policies: [GrantPolicy], clock: VaultClock
    ) async throws(CofferError) {
        let times = policies.compactMap { policy -> Duration? in
            if case .idle(let time) = policy { time } else { nil }
        }
        guard let shortest = times.min() else { return }
        if let elapsed = record.lastUse.elapsed(clock), elapsed < shortest / 10 { return }
        try await update(grant) { (record) throws(CofferError) in record.lastUse = ClockStamp(clock) }
    }

    /// The error that callers get if there is no session.
    package static var signInNeeded: CofferError {
        CofferError(
            .signInNeeded, "A sign-in is needed: there is no session for this account.", remedy: .signIn)
    }

    /// Returns every session in the vault, also those that have ended and those whose state is damaged.
    ///
    /// - Throws: `locked`, `wiped` or `corrupt`.
    package func list() async throws(CofferError) -> [GrantID] {
        try await tokens.listing().tokens.compactMap { info in
            GrantID(row: info.id, suffix: ReservedServices.grantSuffix)
        }
    }

    /// Returns every session with tokens that are to be revoked.
    ///
    /// - Throws: `locked`, `wiped` or `corrupt`.
    package func listPendingRevocations() async throws(CofferError) -> [GrantID] {
        try await tokens.listing().tokens.compactMap { info in
            GrantID(row: info.id, suffix: ReservedServices.revokeSuffix)
        }
    }

    /// Removes a session's tokens, but not its state.
    ///
    /// - Throws: `locked`, `wiped` or `busy`.
    package func removeTokens(_ grant: GrantID) async throws(CofferError) {
        for kind in [TokenKind.refresh, .access, .id] { try await tokens.remove(grant.tokenID(kind)) }
    }

    /// Removes a session: its tokens, then its state. Tokens that are to be revoked stay.
    ///
    /// - Throws: `locked`, `wiped` or `busy`.
    package func remove(_ grant: GrantID) async throws(CofferError) {
        try await removeTokens(grant)
        try await tokens.remove(grant.grantRow)
    }
}
