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
    }

    private let state = Mutex(State())
    private let time: TimeSource
    /// Without use for so long, the room locks; `nil`: never.
    private let inactivity: Duration?
    /// Called after keys were used, to start timeouts elsewhere anew.
    private let onUse: @Sendable () -> Void

    init(time: TimeSource, inactivity: Duration?, onUse: @escaping @Sendable () -> Void) {
        self.time = time
        self.inactivity = inactivity
        self.onUse = onUse
    }

    /// Takes keys in and starts the idle time.
    func admit(_ keys: [ProtectionClass: ClassKey]) {
        state.withLock { state in
            guard !state.isWiped else { return }
            state.keys.merge(keys) { $1 }
            state.idleEnd = inactivity.map { time.sinceBoot() + $0 }
        }
        watch()
    }

    /// The key of a class. Using it starts the idle time anew.
    func key(_ protection: ProtectionClass) throws(CofferError) -> ClassKey {
        dropIdleKeys()
        let (key, isWiped) = state.withLock { state in
            let key = state.keys[protection]
            if key != nil { state.idleEnd = inactivity.map { time.sinceBoot() + $0 } }
            return (key, state.isWiped)
        }
        guard !isWiped else { throw CofferError.wiped }
        guard let key else { throw CofferError.locked }
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

    /// Drops what a lock drops.
    func lock() {
        state.withLock { Self.lock(&$0) }
    }

    /// Drops everything, for good when `wiped`.
    func dropAll(wiped: Bool) {
        state.withLock { state in
            state.keys = [:]
            state.epoch += 1
            state.isWiped = state.isWiped || wiped
        }
    }

    private static func lock(_ state: inout State) {
        state.keys = state.keys.filter { !$0.key.dropsOnLock }
        state.idleEnd = nil
        state.epoch += 1
    }

    private func dropIdleKeys() {
        let now = time.sinceBoot()
        state.withLock { state in
            if let end = state.idleEnd, now >= end { Self.lock(&state) }
        }
    }

    /// Sleeps until the idle time is over and locks, so that keys go also when nobody asks for them.
    private func watch() {
        let start = state.withLock { state in
            defer { state.isWatched = true }
            return !state.isWatched && state.idleEnd != nil
        }
        guard start else { return }
        Task.detached { [weak self] in
            while let pause = self?.timeToIdleEnd() {
                try? await Task.sleep(for: max(pause, Duration.milliseconds(20)), clock: .continuous)
            }
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
