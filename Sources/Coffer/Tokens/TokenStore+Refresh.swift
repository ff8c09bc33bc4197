public import CofferBase
import CofferEngine
import Synchronization

extension TokenStore {
    /// Replaces a token by a new one that `exchange` obtains with it, once: of all who ask for it at the same
    /// time, in whatever task, thread or process, one runs `exchange`, and the others wait and get its
    /// result.
    ///
    /// Servers that rotate refresh tokens take a second use of the same one for theft. The right to refresh
    /// is a lease that the kernel drops when its owner dies; then the next one runs `exchange`. The old token
    /// stays until the new one is stored and read back, and whatever `exchange` fails with changes nothing.
    /// The class of the token stays, too.
    ///
    /// ```swift
    /// let fresh = try await session.tokens.refresh(id) { current, _ throws(CofferError) in
    ///     RefreshResponse(try await exchange(current))
    /// }
    /// ```
    ///
    /// At the deadline, or when the calling task is cancelled, the task of `exchange` is cancelled and waited
    /// for: a token that it gives nevertheless is stored. Not guaranteed: a token that the server gave to a
    /// process which died before it was stored is lost with it.
    ///
    /// A closure that is told `invalid_grant` throws `tokenRevoked`: the token was taken back, and what
    /// follows is up to `policy`. Unless told otherwise, what the account had is erased, and nothing of
    /// others: ``RevocationScope/account``.
    ///
    /// - Parameters:
    ///   - id: What the token is found by.
    ///   - deadline: How long to wait for somebody else's refresh, and then how long `exchange` may take.
    ///   - policy: What follows when the token was taken back.
    ///   - exchange: Obtains the new token from the current one.
    /// - Returns: The token now stored; `nil` when there is none of that name.
    /// - Throws: `timedOut`, `cancelled`; `conflict` when the token was replaced or removed by other means
    ///   meanwhile, which then stands; `locked`, `wiped`, `busy`, `noSpace`; what `exchange` throws,
    ///   `tokenRevoked` after the policy was followed.
    public func refresh(
        _ id: TokenID, deadline: Duration = .seconds(60),
        onRevocation policy: RevocationPolicy = .wipe(.account),
        _ exchange:
            @escaping @Sendable (_ current: Token, _ info: TokenInfo) async throws(CofferError) ->
            RefreshResponse
    ) async throws(CofferError) -> RefreshResult? {
        guard let before = try await stored(id) else { return nil }
        let lease = try await RefreshLease.acquire(name(of: id), home: core.home, deadline: deadline)
        do throws(CofferError) {
            let result = try await performRefresh(
                id, since: before.info.version, deadline: deadline, exchange)
            await lease.release()
            return result
        } catch {
            await lease.release()
            if error.code == .tokenRevoked { try await revoked(id, policy) }
            throw error
        }
    }

    /// A token that was replaced meanwhile is rightly refused by its server: that is no revocation.
    private func checkStillStored(_ info: TokenInfo) async throws(CofferError) {
        let now = try await self.info(for: info.id)?.version ?? 0
        guard now == info.version else {
            throw CofferError(
                .conflict, "The token was replaced while its issuer refused the old one.", currentVersion: now
            )
        }
    }

    private func revoked(_ id: TokenID, _ policy: RevocationPolicy) async throws(CofferError) {
        _ = try await BlockingExecutor.run { [core] _ throws(CofferError) in
            let grant = Revocation.grantRevoked(
                reason: "a token was taken back by its issuer", of: TokenAccount(id))
            return try core.handle(grant, onRevocation: policy)
        }
    }

    /// Refreshes under the lease, unless somebody did since `version`.
    private func performRefresh(
        _ id: TokenID, since version: UInt64, deadline: Duration,
        _ exchange:
            @escaping @Sendable (_ current: Token, _ info: TokenInfo) async throws(CofferError) ->
            RefreshResponse
    ) async throws(CofferError) -> RefreshResult? {
        guard let current = try await stored(id) else { return nil }
        guard current.info.version == version else { return current }
        let renewal: RefreshResponse
        do throws(CofferError) {
            renewal = try await RefreshDeadline(deadline).bound { () async throws(CofferError) in
                try await exchange(current.token, current.info)
            }
        } catch {
            if error.code == .tokenRevoked { try await checkStillStored(current.info) }
            throw error
        }
        let new = try await store(renewal, over: current.info, for: id)
        guard let stored = try await stored(id) else { return nil }
        guard stored.info.version != new || stored.token.secret.isEqual(to: renewal.token.secret) else {
            throw CofferError(.corrupt, "The new token does not read back as it was stored.")
        }
        return RefreshResult(token: stored.token, info: stored.info, didRefresh: stored.info.version == new)
    }

    /// Stores what was obtained. Where the vault was locked meanwhile, it waits for the next unlock, which
    /// the error then says: the server may have taken the old token back.
    private func store(
        _ renewal: RefreshResponse, over info: TokenInfo, for id: TokenID
    ) async throws(CofferError) -> UInt64 {
        func put(ifVersion: UInt64?) async throws(CofferError) -> UInt64 {
            try await self.put(
                renewal.token, for: id, class: info.protection, expires: renewal.expires,
                scopes: renewal.scopes ?? info.scopes, attributes: renewal.attributes ?? info.attributes,
                isEphemeral: info.isEphemeral, ifVersion: ifVersion)
        }
        do throws(CofferError) {
            // One that still waits has no version; stored meanwhile, it is the one to replace.
            let version = try await put(ifVersion: info.version == 0 ? nil : info.version)
            guard version == 0 else { return version }
        } catch {
            guard error.code == .locked else { throw error }
            let version = try await put(ifVersion: nil)
            guard version == 0 else { return version }
        }
        throw CofferError(
            .locked, "The vault was locked meanwhile: the new token waits, sealed, for the next unlock.")
    }

    private func stored(_ id: TokenID) async throws(CofferError) -> RefreshResult? {
        try await withToken(for: id) { token, info in
            RefreshResult(token: token, info: info, didRefresh: false)
        }
    }
}

/// A time that work may take before its task is cancelled.
private struct RefreshDeadline {
    private let duration: Duration

    init(_ duration: Duration) { self.duration = duration }

    /// Runs `work` in a task of its own and waits for its end, cancelled or not.
    func bound<Value: Sendable>(
        _ work: @escaping @Sendable () async throws(CofferError) -> Value
    ) async throws(CofferError) -> Value {
        let hasPassed = Flag()
        let task = Task { () async -> Result<Value, CofferError> in
            do throws(CofferError) {
                return .success(try await work())
            } catch {
                return .failure(error)
            }
        }
        let timer = Task { [duration] in
            try? await Task.sleep(for: duration, clock: .continuous)
            guard !Task.isCancelled else { return }
            hasPassed.raise()
            task.cancel()
        }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        timer.cancel()
        do throws(CofferError) {
            return try result.get()
        } catch {
            guard hasPassed.isRaised else { throw error }
            throw CofferError(.timedOut, "Refreshing the token took too long; the old one is unchanged.")
        }
    }

    private final class Flag: Sendable {
        private let flag = Atomic(false)

        var isRaised: Bool { flag.load(ordering: .sequentiallyConsistent) }

        func raise() { flag.store(true, ordering: .sequentiallyConsistent) }
    }
}
