import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization

/// Where the unwrapped class keys live while a session is unlocked, and the one place that drops them.
///
/// Each class has an inactivity time of its own: the use of one keeps no other here.
final class ClassKeyStore: Sendable {
    private let state = Mutex(State())
    private let time: VaultClock
    /// A class that is not used for so long goes; `nil`: never.
    private let inactivity: Duration?
    /// Called after a key was used, to start its timeout elsewhere again.
    private let onUse: @Sendable (ProtectionClass, ClassKey) -> Void
    /// Told of every change, after it.
    private let hub: EventBroadcaster

    init(
        time: VaultClock, inactivity: Duration?, hub: EventBroadcaster = EventBroadcaster(),
        onUse: @escaping @Sendable (ProtectionClass, ClassKey) -> Void
    ) {
        self.time = time
        self.inactivity = inactivity
        self.hub = hub
        self.onUse = onUse
    }

    /// Takes keys in and starts their idle time, unless a lock came since `locks` was read.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - terms: How long those may stay that were taken from elsewhere.
    ///   - lacking: Classes that the vault has and whose keys are not at hand.
    ///   - locks: What ``locks`` was when the work began that these keys come from.
    /// - Returns: Whether they are in.
    @discardableResult
    func insert(
        _ keys: [ProtectionClass: ClassKey], _ terms: [ProtectionClass: HeldTerm] = [:],
        lacking: Set<ProtectionClass> = [], since locks: Int? = nil
    ) -> Bool {
        let now = time.bootTime()
        let boot = time.bootIdentifier()
        let (isIn, isNew) = state.withLock { state in
            guard !state.isWiped, locks == nil || locks == state.locks else { return (false, false) }
            let wasOpen = state.isOpen
            for (protection, key) in keys {
                state.admit(key, protection, terms[protection], now: now, inactivity: inactivity)
            }
            state.lapsed.formUnion(lacking.filter { state.held[$0] == nil })
            state.boot = boot
            return (true, !wasOpen && state.isOpen)
        }
        if isNew { hub.post(VaultEvent(.unlocked)) }
        watch()
        return isIn
    }

    /// Takes these keys in and drops every other, unless a lock came since `locks` was read.
    @discardableResult
    func replace(with keys: [ProtectionClass: ClassKey], since locks: Int? = nil) -> Bool {
        state.withLock { state in
            state.drop(Set(state.held.keys.filter { keys[$0] == nil }))
            state.lapsed.formIntersection(keys.keys)
        }
        return insert(keys, since: locks)
    }

    /// The key of a class. Using it starts the idle time of this class again.
    func key(_ protection: ProtectionClass) throws(CofferError) -> ClassKey {
        let now = time.bootTime()
        dropIdleKeys(now)
        let (key, refusal) = state.withLock { state in
            let key = state.use(protection, now: now, inactivity: inactivity)
            return (key, key == nil ? state.refusal(protection) : nil)
        }
        guard let key else { throw refusal ?? CofferError.locked }
        onUse(protection, key)
        return key
    }

    /// The key of a class, without counting as use.
    func present(_ protection: ProtectionClass) -> ClassKey? {
        dropIdleKeys(time.bootTime())
        return state.withLock { $0.held[protection]?.key }
    }

    /// Every key now held, without counting as use.
    var all: [ProtectionClass: ClassKey] {
        dropIdleKeys(time.bootTime())
        return state.withLock { $0.held.mapValues(\.key) }
    }

    /// Whether the vault was wiped.
    var isWiped: Bool { state.withLock { $0.isWiped } }

    /// Whether keys that a lock drops are here.
    var isUnlocked: Bool { all.keys.contains { $0.isEvictedOnLock } }

    /// Whether a class of the vault lost its key while others stayed.
    var isPartial: Bool {
        dropIdleKeys(time.bootTime())
        return state.withLock { !$0.lapsed.isEmpty }
    }

    /// When keys that were held elsewhere until an exact time go; `nil` where none were.
    var exactEnd: Duration? {
        dropIdleKeys(time.bootTime())
        return state.withLock { $0.held.values.compactMap(\.end).min() }
    }

    /// Counts locks from outside. Keys that come from work which began under another number stay out.
    var locks: Int { state.withLock { $0.locks } }

    /// The mark that long work takes when it begins, for ``hasLost(since:only:)``. Ask before taking a key.
    var mark: KeyMark {
        dropIdleKeys(time.bootTime())
        return state.withLock { $0.mark }
    }

    /// Whether a key went that was used since `mark` was read, or that of one class.
    func hasLost(since mark: KeyMark, only protection: ProtectionClass? = nil) -> Bool {
        dropIdleKeys(time.bootTime())
        return state.withLock { $0.isWiped || $0.mark.hasLost(since: mark, only: protection) }
    }

    /// Drops what a lock drops; tells whether there was anything.
    @discardableResult
    func lock(_ reason: LockReason = .requested) -> Bool {
        let dropped = state.withLock { state in
            let wasOpen = state.isOpen
            state.drop(Set(ProtectionClass.allCases.filter(\.isEvictedOnLock)))
            state.lapsed = []
            state.locks += 1
            return wasOpen
        }
        if dropped { hub.post(VaultEvent(.locked, reason)) }
        return dropped
    }

    /// Drops the keys of classes whose time is over elsewhere. With the last that a lock drops, it is a lock.
    func lapse(_ classes: Set<ProtectionClass>, _ reason: LockReason) {
        post(state.withLock { $0.lapse(classes, reason) })
    }

    /// Drops everything, for good when `wiped`; tells whether there was anything.
    @discardableResult
    func removeAll(wiped: Bool, _ reason: LockReason = .requested) -> Bool {
        let dropped = state.withLock { state in
            let hadKeys = !state.held.isEmpty
            state.dropAll()
            defer { state.isWiped = state.isWiped || wiped }
            return hadKeys || wiped && !state.isWiped
        }
        if dropped { hub.post(wiped ? VaultEvent(.wiped) : VaultEvent(.closed, reason)) }
        return dropped
    }

    /// Drops what the inactivity time ends, an exact time, or a reboot.
    private func dropIdleKeys(_ now: Duration) {
        let boot = time.bootIdentifier()
        let loss: Loss? = state.withLock { state in
            if let own = state.boot, own != boot, !state.held.isEmpty {
                state.dropAll()
                return .event(VaultEvent(.closed, .reboot))
            }
            return state.dropOver(now)
        }
        post(loss)
    }

    private func post(_ loss: Loss?) {
        switch loss {
        case .event(let event): hub.post(event)
        case .classes(let classes): hub.keysEvicted(of: classes)
        case nil: break
        }
    }

    /// Sleeps until the next key's time is over and drops it, so that keys go also when nobody asks for them.
    private func watch() {
        let start = state.withLock { state in
            defer { state.isWatched = state.isWatched || state.nextEnd != nil }
            return !state.isWatched && state.nextEnd != nil
        }
        guard start else { return }
        BackgroundTask.repeating { [weak self] in
            self?.timeToNextEnd().map { max($0, .milliseconds(20)) }
        }
    }

    /// How long the next key still stays; `nil` ends the watch.
    private func timeToNextEnd() -> Duration? {
        let now = time.bootTime()
        dropIdleKeys(now)
        return state.withLock { state in
            if let end = state.nextEnd { return end - now }
            state.isWatched = false
            return nil
        }
    }
}
