import CofferBase
import CofferEngine
import Synchronization

extension TokenStore {
    /// Replaces a token with a new one that `exchange` obtains from its issuer. If several callers refresh
    /// the token at the same time, in any task, thread or process, only one of them runs `exchange`, and the
    /// others wait for its result.
    ///
    /// Concurrent exchanges must be avoided because servers that rotate refresh tokens treat a second use of
    /// the same token as theft. The right to refresh is therefore a lease. If the process that holds the
    /// lease dies, the kernel releases it, and the next caller runs `exchange`. The old token stays until the
    /// new one is stored and read back, and an error from `exchange` other than `tokenRevoked` changes
    /// nothing. The token's class does not change.
    ///
    /// A token that is marked (``TokenInfo/isStoredWhileLocked``) is not refreshed, because anyone can have
    /// stored it: it would reach `exchange`, and its class, scopes and attributes would be those of the new
    /// token. Check it, then store it again.
    ///
    /// ```swift
    /// let fresh = try await vault.tokens.refresh(id) { current, _ in
    ///     RefreshResponse(try await exchange(current))
    /// }
    /// ```
    ///
    /// At the deadline, or when the calling task is cancelled, this method cancels the task that runs
    /// `exchange` and waits for it to end. If `exchange` still returns a token, that token is stored. If the
    /// process dies after the server has issued a token but before the token is stored, that token is lost.
    ///
    /// If the server answers `invalid_grant`, the issuer has revoked the token, and the closure should throw
    /// `tokenRevoked`. The `policy` determines what happens next. By default, its scope is
    /// ``RevocationScope/account``: everything that belongs to the token's account is erased, but nothing
    /// that belongs to other accounts.
    ///
    /// - Parameters:
    ///   - id: The token's name.
    ///   - deadline: How long to wait for another caller's refresh, and then how long `exchange` may take.
    ///   - policy: The response if the token was revoked.
    ///   - exchange: A closure that obtains the new token from the current one.
    /// - Returns: The refresh result, with the token that is now stored; `nil` if there is no token with that
    ///   name.
    /// - Throws: `timedOut` if another caller's refresh or `exchange` does not finish before the deadline;
    ///   `cancelled` if the task was cancelled; `conflict` if the token was replaced or removed by other
    ///   means in the meantime, in which case that change is kept; `refused` if the token is marked;
    ///   `locked`, `wiped`, `noSpace`; `busy` if another process holds the vault directory's lock for too
    ///   long; and any error that `exchange` throws. If that error is `tokenRevoked`, it is thrown after the
    ///   policy has been applied.
    public func refresh<Failure: Error>(
        _ id: TokenID, deadline: Duration = .seconds(60),
        onRevocation policy: RevocationPolicy = .wipe(.account),
        _ exchange:
            @escaping @Sendable (_ current: Token, _ info: TokenInfo) async throws(Failure) -> RefreshResponse
    ) async throws -> RefreshResult? {
        let caller = CallerErrors()
        return try await caller.rethrowing { () async throws(CofferError) in
            try await refresh(id, deadline: deadline, policy) { (token, info) async throws(CofferError) in
                try await caller.carrying { try await exchange(token, info) }
            }
        }
    }

    private func refresh(
        _ id: TokenID, deadline: Duration, _ policy: RevocationPolicy,
        _ exchange:
            @escaping @Sendable (_ current: Token, _ info: TokenInfo) async throws(CofferError) ->
            RefreshResponse
    ) async throws(CofferError) -> RefreshResult? {
        // Without the policy, the new token could not be stored.
        _ = try core.managed.policy()
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

    /// Throws `conflict` if the token was replaced in the meantime. In that case, the issuer refused only the
    /// old token, and the refusal is not a revocation.
    private func checkStillStored(_ info: TokenInfo) async throws(CofferError) {
        let now = try await self.info(for: info.id)?.version
        guard now == info.version else {
            throw CofferError(
                .conflict,
                "The issuer rejected the old token, but the token has been replaced in the meantime. Try "
                    + "again.",
                currentVersion: now)
        }
    }

    private func revoked(_ id: TokenID, _ policy: RevocationPolicy) async throws(CofferError) {
        try await applyRevocation(policy, to: TokenAccount(id), reason: "the issuer revoked a token")
    }

    /// Refreshes the token, unless another caller has replaced `version` in the meantime. The caller must
    /// hold the lease.
    private func performRefresh(
        _ id: TokenID, since version: UInt64?, deadline: Duration,
        _ exchange:
            @escaping @Sendable (_ current: Token, _ info: TokenInfo) async throws(CofferError) ->
            RefreshResponse
    ) async throws(CofferError) -> RefreshResult? {
        guard let current = try await stored(id) else { return nil }
        guard !current.info.isStoredWhileLocked else {
            throw CofferError(
                .refused,
                "The token was stored while the vault was locked, so anyone can have stored it. It was not "
                    + "refreshed.", remedy: .storeTokenAgain)
        }
        guard current.info.version == version else { return current }
        let response: RefreshResponse
        do throws(CofferError) {
            response = try await RefreshDeadline(deadline).bound { () async throws(CofferError) in
                try await exchange(current.token, current.info)
            }
        } catch {
            if error.code == .tokenRevoked { try await checkStillStored(current.info) }
            throw error
        }
        let new = try await store(response, over: current.info, for: id)
        guard let stored = try await stored(id) else { return nil }
        guard stored.info.version != new || stored.token.secret.isEqual(to: response.token.secret) else {
            throw CofferError(.corrupt, "The stored token differs from the new token that was written.")
        }
        return RefreshResult(token: stored.token, info: stored.info, didRefresh: stored.info.version == new)
    }

    /// Stores the new token. If the vault was locked in the meantime, stores the token as pending until the
    /// next unlock, because the server may have revoked the old one, and throws `locked`.
    private func store(
        _ response: RefreshResponse, over info: TokenInfo, for id: TokenID
    ) async throws(CofferError) -> UInt64 {
        func put(_ precondition: Precondition) async throws(CofferError) -> UInt64? {
            try await self.put(
                response.token, for: id, class: info.protection, expires: response.expires,
                scopes: response.scopes ?? info.scopes, attributes: response.attributes ?? info.attributes,
                isEphemeral: info.isEphemeral, precondition: precondition
            ).version
        }
        do throws(CofferError) {
            // A pending token has no version. If it was stored meanwhile, replace it.
            if let version = try await put(info.version.map { .version($0) } ?? .any) { return version }
        } catch {
            guard error.code == .locked else { throw error }
            if let version = try await put(.any) { return version }
        }
        throw CofferError(
            .locked,
            "The vault was locked during the refresh, so the new token is pending until the next unlock.")
    }

    private func stored(_ id: TokenID) async throws(CofferError) -> RefreshResult? {
        try await get(id).map { RefreshResult(token: $0.token, info: $0.info, didRefresh: false) }
    }
}

/// A time limit after which a task is cancelled.
private struct RefreshDeadline {
    private let duration: Duration

    init(_ duration: Duration) { self.duration = duration }

    /// Runs `work` in a separate task and waits until it returns, even after cancellation.
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
            throw CofferError(.timedOut, "Refreshing the token took too long. The old token is unchanged.")
        }
    }

    private final class Flag: Sendable {
        private let flag = Atomic(false)

        var isRaised: Bool { flag.load(ordering: .sequentiallyConsistent) }

        func raise() { flag.store(true, ordering: .sequentiallyConsistent) }
    }
}
