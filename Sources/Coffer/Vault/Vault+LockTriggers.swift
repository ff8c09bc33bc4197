public import CofferBase
import CofferEngine
import CofferVault
import Synchronization

extension Vault {
    /// Listens to everything on this host that locks: logind, screen savers, the Secret Service and the
    /// kernel keyring. From then on each of them locks this vault; ``events`` reports which one did.
    ///
    /// This is for long-lived programs. A missing trigger is reported, not waited for: without buses, as on a
    /// server, the inactivity time and ``lock()`` remain. If a bus ends, the vault locks as well, because its
    /// signals can no longer be received. Listening ends with this object; another call replaces it.
    ///
    /// - Parameter sources: Where to listen.
    /// - Returns: The status of each trigger, with the reason.
    @discardableResult
    public func observeLockTriggers(_ sources: LockTriggers = LockTriggers()) async -> [LockTriggerStatus] {
        let core = core
        let statuses = try? await BlockingExecutor.run { _ throws(CofferError) in
            let lockMonitor = LockMonitor(
                sources, inactivity: core.inactivity, act: { [weak core] in core?.act(on: $0) },
                checkKernelKeys: { [weak core] in
                    core?.evictExpiredKeys()
                    return core != nil
                })
            core.lockMonitor.withLock { $0 = lockMonitor }
            return lockMonitor.statuses
        }
        return statuses ?? []
    }

    /// The triggers that ``observeLockTriggers(_:)`` would listen to on this host, for this vault.
    ///
    /// - Throws: `wiped`, `corrupt`.
    public func lockTriggers(_ sources: LockTriggers = LockTriggers()) async throws(CofferError)
        -> [LockTriggerStatus]
    {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            LockMonitor.probe(sources, inactivity: try core.readKeybag().inactivity)
        }
    }
}
