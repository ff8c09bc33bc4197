import CofferBase
import CofferEngine
import Synchronization

/// Everything outside a session that locks it: buses, and the timeout of keys in the kernel keyring.
final class LockMonitor: Sendable {
    private let system: LogindLockMonitor
    private let session: DesktopLockMonitor
    private let kernelWatch: Task<Void, Never>?
    /// What is listened to.
    let statuses: [LockTriggerStatus]
    /// How often the kernel keyring is asked; it sends no signal.
    private static let kernelPause = Duration.milliseconds(200)

    /// Starts to listen on behalf of `core`. Blocks up to a few of the sources' deadlines.
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

    /// What could be listened to, without a session to lock.
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
                    ?? "The home has no inactivity time: only a reboot ends it by itself."),
            LockTriggerStatus(
                .kernelKeyring, hasKeyring,
                hasKeyring
                    ? "Keys lent to the kernel keyring go at its timeout, whatever this process does."
                    : "There is no kernel keyring: no key outlives a process."),
        ]
    }
}

extension VaultCore {
    /// Drops the keys of classes that are gone in the kernel keyring; when all are, it is a lock.
    func lapse(_ classes: Set<ProtectionClass>, isEverything: Bool) {
        cachedKeys.forget(classes)
        guard isEverything else { return keys.lapse(classes, .kernelKeyExpired) }
        // Nothing is taken back: what is there now came after those keys, from another unlock.
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
    /// kernel keyring. From then on each of them locks this session; ``events`` says which did.
    ///
    /// For programs that live long. What is absent is said, not waited for: without buses, as on a server,
    /// the inactivity time and ``lock()`` remain. The end of a bus locks as well, since what would lock
    /// cannot be heard any more. It ends with the session; listening anew replaces it.
    ///
    /// - Parameter sources: Where to listen.
    /// - Returns: What is listened to and what is not, each with the reason.
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

    /// What ``observeLockTriggers(_:)`` would listen to on this host, for this vault.
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
