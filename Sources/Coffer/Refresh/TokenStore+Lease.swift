package import CofferBase

/// Support for refreshes that store more than one token.
extension TokenStore {
    /// Runs `work` while this caller alone has the right to refresh a token, among all tasks, threads and
    /// processes. If the process dies, the kernel ends the right.
    ///
    /// - Parameters:
    ///   - id: The token's name.
    ///   - deadline: How long to wait for another caller; `work` has no deadline.
    ///   - work: The work, which must not refresh the same token in another way.
    /// - Returns: The result of `work`.
    /// - Throws: `timedOut` if another caller does not finish before the deadline; `cancelled` if the task is
    ///   cancelled while it waits; `wiped` or `busy`; or the error that `work` throws.
    package func withRefreshLease<Result>(
        of id: TokenID, deadline: Duration, _ work: () async throws(CofferError) -> Result
    ) async throws(CofferError) -> Result {
        let lease = try await RefreshLease.acquire(name(of: id), home: core.home, deadline: deadline)
        do throws(CofferError) {
            let result = try await work()
            await lease.release()
            return result
        } catch {
            await lease.release()
            throw error
        }
    }

    /// Applies a policy to an account whose grant was revoked, even while the vault is locked.
    @discardableResult
    package func applyRevocation(
        _ policy: RevocationPolicy, to account: TokenAccount, reason: String
    ) async throws(CofferError) -> RevocationOutcome {
        try await BlockingExecutor.run { [core] _ throws(CofferError) in
            try core.handle(.grantRevoked(reason: reason, of: account), onRevocation: policy)
        }
    }
}
