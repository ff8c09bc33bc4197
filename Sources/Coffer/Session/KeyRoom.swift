import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization

/// Where the unwrapped class keys live while a session is unlocked, and the one place that drops them.
final class KeyRoom: Sendable {
    private struct State {
        var keys: [ProtectionClass: ClassKey] = [:]
        var isWiped = false
        /// When the keys that drop on lock are dropped for want of use.
        var idleEnd: Duration?
        /// Counts locks: whoever works for long compares it.
        var epoch = 0
        var isWatched = false
        /// The boot in which the keys came in.
        var boot: String?
    }

    private let state = Mutex(State())
    private let time: TimeSource
    /// Without use for so long, the room locks; `nil`: never.
    private let inactivity: Duration?
    /// Called after keys were used, to start timeouts elsewhere anew.
    private let onUse: @Sendable () -> Void
    /// Told of every change, after it.
    private let hub: EventHub

    init(
        time: TimeSource, inactivity: Duration?, hub: EventHub = EventHub(),
        onUse: @escaping @Sendable () -> Void
    ) {
        self.time = time
        self.inactivity = inactivity
        self.hub = hub
        self.onUse = onUse
    }

    /// Takes keys in and starts the idle time.
    func admit(_ keys: [ProtectionClass: ClassKey]) {
        let isNew = state.withLock { state in
            guard !state.isWiped else { return false }
            let wasOpen = Self.isOpen(state)
            state.keys.merge(keys) { $1 }
            state.idleEnd = inactivity.map { time.sinceBoot() + $0 }
            state.boot = time.bootIdentifier()
            return !wasOpen && Self.isOpen(state)
        }
        if isNew { hub.post(SessionEvent(.unlocked)) }
        watch()
    }

    /// Takes these keys in and drops every other.
    func replace(with keys: [ProtectionClass: ClassKey]) {
        state.withLock { state in state.keys = state.keys.filter { keys[$0.key] != nil } }
        admit(keys)
    }

    private static func isOpen(_ state: State) -> Bool { state.keys.keys.contains { $0.dropsOnLock } }

    /// The key of a class. Using it starts the idle time anew.
    func key(_ protection: ProtectionClass) throws(CofferError) -> ClassKey {
        dropIdleKeys()
        let (key, isWiped, isOpen) = state.withLock { state in
            let key = state.keys[protection]
            if key != nil { state.idleEnd = inactivity.map { time.sinceBoot() + $0 } }
            return (key, state.isWiped, Self.isOpen(state))
        }
        guard !isWiped else { throw CofferError.wiped }
        guard let key else {
            throw protection.needsPasscode && isOpen ? CofferError.needsPasscode : CofferError.locked
        }
        onUse()
        return key
    }

    /// Every key now held, without counting as use.
    var all: [ProtectionClass: ClassKey] {
        dropIdleKeys()
        return state.withLock { $0.keys }
    }

    /// Whether the vault was wiped.
    var isWiped: Bool { state.withLock { $0.isWiped } }

    /// Whether the keys that a lock drops are here.
    var isUnlocked: Bool { all.keys.contains { $0.dropsOnLock } }

    /// Counts locks; work that began under another number must stop.
    var epoch: Int {
        dropIdleKeys()
        return state.withLock { $0.epoch }
    }

    /// Drops what a lock drops; gives whether there was anything.
    @discardableResult
    func lock(_ reason: LockReason = .asked) -> Bool {
        let dropped = state.withLock { Self.lock(&$0) }
        if dropped { hub.post(SessionEvent(.locked, reason)) }
        return dropped
    }

    /// Drops everything, for good when `wiped`; gives whether there was anything.
    @discardableResult
    func dropAll(wiped: Bool, _ reason: LockReason = .asked) -> Bool {
        let dropped = state.withLock { state in
            let hadKeys = !state.keys.isEmpty
            Self.dropAll(&state)
            defer { state.isWiped = state.isWiped || wiped }
            return hadKeys || wiped && !state.isWiped
        }
        if dropped { hub.post(wiped ? SessionEvent(.wiped) : SessionEvent(.closed, reason)) }
        return dropped
    }

    private static func dropAll(_ state: inout State) {
        state.keys = [:]
        state.idleEnd = nil
        state.epoch += 1
    }

    /// Gives whether there was anything to drop.
    private static func lock(_ state: inout State) -> Bool {
        let wasOpen = isOpen(state)
        state.keys = state.keys.filter { !$0.key.dropsOnLock }
        state.idleEnd = nil
        state.epoch += 1
        return wasOpen
    }

    /// Drops what the inactivity time ends, or a reboot.
    private func dropIdleKeys() {
        let now = time.sinceBoot()
        let boot = time.bootIdentifier()
        let event: SessionEvent? = state.withLock { state in
            if let own = state.boot, own != boot, !state.keys.isEmpty {
                Self.dropAll(&state)
                return SessionEvent(.closed, .reboot)
            }
            guard let end = state.idleEnd, now >= end else { return nil }
            return Self.lock(&state) ? SessionEvent(.locked, .idle) : nil
        }
        if let event { hub.post(event) }
    }

    /// Sleeps until the idle time is over and locks, so that keys go also when nobody asks for them.
    private func watch() {
        let start = state.withLock { state in
            defer { state.isWatched = true }
            return !state.isWatched && state.idleEnd != nil
        }
        guard start else { return }
        WatchTask.repeating { [weak self] in
            self?.timeToIdleEnd().map { max($0, .milliseconds(20)) }
        }
    }

    /// How long the keys still stay; `nil` ends the watch.
    private func timeToIdleEnd() -> Duration? {
        dropIdleKeys()
        let now = time.sinceBoot()
        return state.withLock { state in
            if let end = state.idleEnd { return end - now }
            state.isWatched = false
            return nil
        }
    }
}
