public import CofferBase
import CofferEngine
import CofferVault
import Synchronization

extension Vault {
    /// Starts listening to this host's lock triggers: logind, screen savers, the Secret Service and the
    /// kernel keyring. From then on, each trigger locks this vault, and ``events`` reports which trigger it
    /// was.
    ///
    /// Call this method in long-lived programs. The result reports missing triggers, and the call does not
    /// wait for them. On a host without buses, such as a server, only the inactivity time and ``lock()``
    /// remain. If the connection to a bus ends, the vault locks as well, because that bus's signals can no
    /// longer be received. Listening ends when this object is deallocated; another call replaces the earlier
    /// triggers.
    ///
    /// - Parameter sources: The sources to listen to.
    /// - Returns: Each trigger's status and the reason for it.
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

    /// Evicts the keys that another process's lock removed from the kernel keyring, without waiting for the
    /// monitor of lock triggers to find that.
    package func noticeLock() { core.evictExpiredKeys() }

    /// Returns the status of every trigger that ``observeLockTriggers(_:)`` would listen to on this host for
    /// this vault.
    ///
    /// - Parameter sources: The sources to check.
    /// - Returns: Each trigger's status and the reason for it.
    /// - Throws: `wiped` or `corrupt`.
    public func lockTriggers(_ sources: LockTriggers = LockTriggers()) async throws(CofferError)
        -> [LockTriggerStatus]
    {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            let own = try core.readKeybag().inactivity
            return LockMonitor.probe(sources, inactivity: core.managed.inactivity(with: own))
        }
    }
}
