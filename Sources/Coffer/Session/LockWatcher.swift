import CofferBase
import CofferEngine
import Synchronization

/// Everything outside a session that locks it: buses, and the timeout of keys in the kernel keyring.
final class LockWatcher: Sendable {
    private let system: SystemBusLocks
    private let session: SessionBusLocks
    private let kernelWatch: Task<Void, Never>?
    /// What is listened to.
    let statuses: [LockSourceStatus]
    /// How often the kernel keyring is asked; it sends no signal.
    private static let kernelPause = Duration.milliseconds(200)

    /// Starts to listen on behalf of `core`. Blocks up to a few of the sources' deadlines.
    init(_ sources: LockSources, core: SessionCore) {
        let act: @Sendable (LockSignal) -> Void = { [weak core] in core?.act(on: $0) }
        system = SystemBusLocks(deadline: sources.deadline, act: act)
        session = SessionBusLocks(deadline: sources.deadline, act: act)
        let hasKeyring = KernelKeyring.isAvailable
        statuses =
            Self.own(inactivity: core.inactivity, hasKeyring: hasKeyring)
            + system.start(sources, inhibiting: true) + session.start(sources)
        guard hasKeyring else {
            kernelWatch = nil
            return
        }
        kernelWatch = WatchTask.start { [weak core] in
            while !Task.isCancelled, let held = core?.heldKeys {
                let gone = held.lapsed
                if !gone.classes.isEmpty { core?.lapse(gone.classes, isEverything: gone.isEverything) }
                try? await Task.sleep(for: Self.kernelPause, clock: .continuous)
            }
        }
    }

    deinit { kernelWatch?.cancel() }

    /// What could be listened to, without a session to lock.
    static func probe(_ sources: LockSources, inactivity: Int?) -> [LockSourceStatus] {
        let system = SystemBusLocks(deadline: sources.deadline) { _ in }
        let session = SessionBusLocks(deadline: sources.deadline) { _ in }
        return own(inactivity: inactivity, hasKeyring: KernelKeyring.isAvailable)
            + system.start(sources, inhibiting: false) + session.start(sources)
    }

    private static func own(inactivity: Int?, hasKeyring: Bool) -> [LockSourceStatus] {
        [
            LockSourceStatus(
                .idleTimer, inactivity != nil,
                inactivity.map { "Locks after \($0) seconds without use, sleep included." }
                    ?? "The home has no inactivity time: only a reboot ends it by itself."),
            LockSourceStatus(
                .kernelKeyring, hasKeyring,
                hasKeyring
                    ? "Keys lent to the kernel keyring go at its timeout, whatever this process does."
                    : "There is no kernel keyring: no key outlives a process."),
        ]
    }
}

extension SessionCore {
    /// Drops the keys of classes that are gone in the kernel keyring; when all are, it is a lock.
    func lapse(_ classes: Set<ProtectionClass>, isEverything: Bool) {
        heldKeys.forget(classes)
        guard isEverything else { return keys.lapse(classes, .kernelKey) }
        // Nothing is taken back: what is there now came after those keys, from another unlock.
        keys.lock(.kernelKey)
    }

    func act(on signal: LockSignal) {
        switch signal {
        case .lock(let reason): lock(reason)
        case .close(let reason): close(reason)
        case .awake, .collectionLocked, .collectionChanged: break
        }
    }
}

extension Session {
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
    public func followLockSources(_ sources: LockSources = LockSources()) async -> [LockSourceStatus] {
        let core = core
        let statuses = try? await BlockingWork.run { _ throws(CofferError) in
            let watcher = LockWatcher(sources, core: core)
            core.watcher.withLock { $0 = watcher }
            return watcher.statuses
        }
        return statuses ?? []
    }

    /// What ``followLockSources(_:)`` would listen to on this host, for this vault.
    ///
    /// - Throws: `wiped`, `corrupt`.
    public func lockSources(_ sources: LockSources = LockSources()) async throws(CofferError)
        -> [LockSourceStatus]
    {
        let core = core
        return try await BlockingWork.run { _ throws(CofferError) in
            LockWatcher.probe(sources, inactivity: try core.readKeybag().inactivity)
        }
    }
}
