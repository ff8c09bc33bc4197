import CofferBase
import CofferEngine
import Synchronization
import CofferVault

/// The lock triggers outside of this process: buses, and the timeout of keys in the kernel keyring.
final class LockMonitor: Sendable {
    private let system: LogindLockMonitor
    private let session: DesktopLockMonitor
    private let kernelWatch: Task<Void, Never>?
    /// The status of each trigger.
    let statuses: [LockTriggerStatus]
    /// The interval at which the kernel keyring is polled; it sends no signal.
    private static let kernelPause = Duration.milliseconds(200)

    /// Starts to listen on behalf of `core`. Blocks up to a few times the triggers' deadline.
    init(_ sources: LockTriggers, core: VaultCore) {
        let act: @Sendable (LockSignal) -> Void = { [weak core] in core?.act(on: $0) }
        system = LogindLockMonitor(deadline: sources.deadline, act: act)
        session = DesktopLockMonitor(deadline: sources.deadline, act: act)
        let hasKeyring = KernelKeyring.isAvailable
        statuses =
            Self.own(inactivity: core.inactivity, hasKeyring: hasKeyring)
            + system.start(sources, inhibiting: true) + session.start(sources)
        guard hasKeyring else {
            kernelWatch = nil
            return
        }
        kernelWatch = BackgroundTask.start { [weak core] in
            while !Task.isCancelled, let held = core?.cachedKeys {
                let gone = held.expired
                if !gone.classes.isEmpty { core?.lapse(gone.classes, isEverything: gone.isEverything) }
                try? await Task.sleep(for: Self.kernelPause, clock: .continuous)
            }
        }
    }

    deinit { kernelWatch?.cancel() }

    /// The status of each trigger, without a vault to lock.
    static func probe(_ sources: LockTriggers, inactivity: Int?) -> [LockTriggerStatus] {
        let system = LogindLockMonitor(deadline: sources.deadline) { _ in }
        let session = DesktopLockMonitor(deadline: sources.deadline) { _ in }
        return own(inactivity: inactivity, hasKeyring: KernelKeyring.isAvailable)
            + system.start(sources, inhibiting: false) + session.start(sources)
    }

    private static func own(inactivity: Int?, hasKeyring: Bool) -> [LockTriggerStatus] {
        [
            LockTriggerStatus(
                .idleTimer, inactivity != nil,
                inactivity.map { "Locks after \($0) seconds without use, sleep included." }
                    ?? "The vault has no inactivity time: without other triggers only a reboot locks it."),
            LockTriggerStatus(
                .kernelKeyring, hasKeyring,
                hasKeyring
                    ? "Keys cached in the kernel keyring end at its timeout, whatever this process does."
                    : "There is no kernel keyring, so no key outlives its process."),
        ]
    }
}

extension VaultCore {
    /// Evicts the keys of classes that are gone from the kernel keyring; if all are gone, this is a lock.
    func lapse(_ classes: Set<ProtectionClass>, isEverything: Bool) {
        cachedKeys.forget(classes)
        guard isEverything else { return keys.lapse(classes, .kernelKeyExpired) }
        // Nothing is removed from the kernel keyring: keys there now came later, from another unlock.
        keys.lock(.kernelKeyExpired)
    }

    func act(on signal: LockSignal) {
        switch signal {
        case .lock(let reason): lock(reason)
        case .close(let reason): close(reason)
        case .awake, .collectionLocked, .collectionChanged: break
        }
    }
}

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
            let watcher = LockMonitor(sources, core: core)
            core.watcher.withLock { $0 = watcher }
            return watcher.statuses
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
