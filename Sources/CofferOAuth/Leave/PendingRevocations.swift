package import Coffer
package import CofferBase

/// The revocation of tokens that were put aside.
package struct PendingRevocations: Sendable {
    /// The time for the revocation of a session's tokens at the server.
    static let deadline = Duration.seconds(10)

    private let store: GrantStore
    private let clock: VaultClock

    /// Creates the revocation of the tokens in a store.
    package init(_ store: GrantStore, clock: VaultClock) {
        self.store = store
        self.clock = clock
    }

    /// Revokes tokens at the server: first the refresh tokens, then the access tokens. A server that revokes
    /// the one does not always revoke the other.
    ///
    /// A token is sent only to the issuer that it came from, and only while the profile has the token
    /// endpoint of its sign-in. Every token whose fate is settled is removed from those that were put aside.
    /// After the first request that nobody answers or judges, or at the deadline, nothing more is sent.
    ///
    /// - Parameters:
    ///   - entries: The tokens.
    ///   - grant: The session to which they belonged.
    ///   - endpoints: The server; `nil` if it cannot be asked.
    ///   - deadline: The time for all of it.
    /// - Returns: The fate of each kind of token, the worst one if there are several.
    func revoke(
        _ entries: [PendingRevocation], of grant: GrantID, at endpoints: ServerEndpoints?,
        deadline: Duration = PendingRevocations.deadline
    ) async -> [TokenKind: LogoutReceipt.Revocation] {
        await Self.bounded(by: deadline) { await revokeAll(entries, of: grant, at: endpoints) }
    }

    private func revokeAll(
        _ entries: [PendingRevocation], of grant: GrantID, at endpoints: ServerEndpoints?
    ) async -> [TokenKind: LogoutReceipt.Revocation] {
        var fates: [TokenKind: LogoutReceipt.Revocation] = [:]
        var server = await prepared(endpoints, for: entries)
        for kind in [TokenKind.refresh, .access] {
            for entry in entries where entry.kind == kind {
                let fate = await revoke(entry, at: &server)
                if fate != .pending { try? await store.removePendingRevocation(entry, of: grant) }
                fates[kind] = Self.worse(fates[kind], fate)
            }
        }
        return fates
    }

    /// Returns the server after the other sessions of the client know that tokens are revoked; `nil` if that
    /// cannot be noted, so that the tokens wait.
    private func prepared(
        _ endpoints: ServerEndpoints?, for entries: [PendingRevocation]
    ) async -> ServerEndpoints? {
        guard let endpoints else { return nil }
        guard !entries.isEmpty, endpoints.has(.revocation) else { return endpoints }
        do throws(CofferError) {
            try await store.noteOwnRevocation(
                issuer: endpoints.profile.issuer.text, clientID: endpoints.profile.clientID, clock: clock)
            return endpoints
        } catch {
            // In a vault that was wiped there are no other sessions.
            return error.code == .wiped ? endpoints : nil
        }
    }

    private func revoke(
        _ entry: PendingRevocation, at server: inout ServerEndpoints?
    ) async -> LogoutReceipt.Revocation {
        guard let endpoints = server,
            entry.isFrom(
                endpoints.profile.issuer.text, tokenEndpoint: (try? endpoints.url(.token))?.text)
        else { return .pending }
        guard endpoints.has(.revocation) else {
            // Before the first discovery, nobody knows whether the server revokes tokens.
            return endpoints.has(.token) ? .unsupported : .pending
        }
        do throws(CofferError) {
            switch try await endpoints.revoke(entry.token, hint: ServerEndpoints.TokenHint(entry.kind)) {
            case .done: return .revoked
            case .unsupportedTokenType: return .unsupported
            case .refused: return .pending
            case .uncertain:
                server = nil
                return .pending
            }
        } catch {
            server = nil
            return .pending
        }
    }

    private static func worse(
        _ one: LogoutReceipt.Revocation?, _ other: LogoutReceipt.Revocation
    ) -> LogoutReceipt.Revocation {
        let order: [LogoutReceipt.Revocation] = [.absent, .revoked, .unsupported, .notRevoked, .pending]
        guard let one, let first = order.firstIndex(of: one), let second = order.firstIndex(of: other) else {
            return other
        }
        return order[max(first, second)]
    }

    /// Tries again to revoke what was put aside, and drops what has waited for 30 days. Call this method at
    /// each contact with the server.
    ///
    /// - Parameters:
    ///   - grant: The session to which the tokens belonged.
    ///   - endpoints: The server; `nil` to drop only what has waited too long.
    /// - Returns: The number of tokens that still wait.
    /// - Throws: `locked`, `wiped`, `busy`, `corrupt` or `noSpace`.
    @discardableResult
    package func retry(_ grant: GrantID, at endpoints: ServerEndpoints?) async throws(CofferError) -> Int {
        let now = clock.wallClock()
        var entries: [PendingRevocation] = []
        for entry in try await store.pendingRevocations(grant) {
            if now - entry.added >= PendingRevocation.longestWait {
                try await store.removePendingRevocation(entry, of: grant)
            } else {
                entries.append(entry)
            }
        }
        guard !entries.isEmpty else { return 0 }
        _ = await revoke(entries, of: grant, at: endpoints)
        return try await store.pendingRevocations(grant).count
    }

    /// Runs work in a task that is cancelled at the deadline, or when the caller's task is cancelled.
    private static func bounded<Value: Sendable>(
        by deadline: Duration, _ work: @escaping @Sendable () async -> Value
    ) async -> Value {
        let task = Task { await work() }
        let timer = Task {
            try? await Task.sleep(for: deadline, clock: .continuous)
            if !Task.isCancelled { task.cancel() }
        }
        let value = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        timer.cancel()
        return value
    }
}
