import CofferBase
import CofferEngine
import CofferVault

extension TokenStore {
    /// Removes tokens, including their pending values, in one change where the storage makes a change in one
    /// step. Tokens that are not there are ignored.
    ///
    /// - Throws: `busy` if another process holds the vault's lock for too long; `noSpace`, `readOnly` or
    ///   `wiped`.
    package func remove(_ ids: [TokenID]) async throws(CofferError) {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let names = try ids.map { (id) throws(CofferError) in try name(of: id) }
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try core.drainPendingTokens(in: vault)
                for name in names {
                    var waiting = try core.entries(.pending, of: name, in: vault)
                    waiting += try core.entries(.unconfirmed, of: name, in: vault)
                    // Before the stored token: without one, the next unlock would store a value left by a
                    // crash.
                    try core.pendingTokens.remove(waiting, in: vault)
                    core.ownPending[name] = nil
                }
                try core.storage.apply(Dictionary(names.map { ($0, .remove) }) { first, _ in first })
                for name in names { try core.ephemeralTokens.remove(name) }
            }
        }
    }
}
