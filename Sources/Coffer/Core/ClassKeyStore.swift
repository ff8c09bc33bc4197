import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Synchronization

/// A store that holds a vault's unwrapped class keys while the vault is unlocked. No other type evicts these
/// keys.
///
/// Each class has its own inactivity time: using one class's key does not postpone the eviction of another
/// class's key.
final class ClassKeyStore: Sendable {
    private let state = Mutex(State())
    private let clock: VaultClock
    /// The time without use after which a class key is evicted; `nil` for never.
    private var inactivity: Duration? { currentInactivity() }
    private let currentInactivity: @Sendable () -> Duration?
    /// A closure that is called after a key is used, to restart the timeout of its copy in the kernel
    /// keyring.
    private let onUse: @Sendable (ProtectionClass, ClassKey) -> Void
    /// The broadcaster that is notified after every change.
    private let events: EventBroadcaster

    init(
        clock: VaultClock, inactivity: @autoclosure @escaping @Sendable () -> Duration?,
        events: EventBroadcaster = EventBroadcaster(),
        onUse: @escaping @Sendable (ProtectionClass, ClassKey) -> Void
    ) {
        self.clock = clock
        currentInactivity = inactivity
        self.events = events
        self.onUse = onUse
    }

    /// Inserts keys and starts their inactivity time, unless the vault has been locked since `locks` was
    /// read.
    ///
    /// - Parameters:
    ///   - keys: The keys to insert.
    ///   - terms: The terms for keys from the kernel keyring, which limit how long the keys may stay.
    ///   - lacking: The vault's classes whose keys are not available.
    ///   - locks: The value of ``locks`` when the work that produced these keys began; `nil` to insert the
    ///     keys even after a lock.
    /// - Returns: Whether the keys were inserted.
    @discardableResult
    func insert(
        _ keys: [ProtectionClass: ClassKey], _ terms: [ProtectionClass: CachedKeyTerm] = [:],
        lacking: Set<ProtectionClass> = [], since locks: Int? = nil
    ) -> Bool {
        let now = clock.bootTime()
        let boot = clock.bootIdentifier()
        let (isIn, isNew) = state.withLock { state in
            guard !state.isWiped, locks == nil || locks == state.locks else { return (false, false) }
            let wasOpen = state.isOpen
            for (protection, key) in keys {
                state.insert(key, protection, terms[protection], now: now, inactivity: inactivity)
            }
            state.lapsed.formUnion(lacking.filter { state.held[$0] == nil })
            state.boot = boot
            return (true, !wasOpen && state.isOpen)
        }
        if isNew { events.post(VaultEvent(.unlocked)) }
        watch()
        return isIn
    }

    /// Records the classes for which the keybag of an earlier release has no key.
    func note(missing classes: Set<ProtectionClass>) { state.withLock { $0.missing = classes } }

    /// Evicts the keys of all classes that `keys` does not contain. Then inserts `keys`, unless the vault has
    /// been locked since `locks` was read. Returns whether the keys were inserted.
    @discardableResult
    func replace(with keys: [ProtectionClass: ClassKey], since locks: Int? = nil) -> Bool {
        state.withLock { state in
            state.drop(Set(state.held.keys.filter { keys[$0] == nil }))
            state.lapsed.formIntersection(keys.keys)
            state.replaced.formIntersection(keys.keys)
        }
        return insert(keys, since: locks)
    }

    /// Replaces keys that the store has by their successors, which stay for the same time, unless the vault
    /// has been locked since `locks` was read.
    func succeed(_ keys: [ProtectionClass: ClassKey], since locks: Int) {
        state.withLock { state in
            guard !state.isWiped, locks == state.locks else { return }
            for (protection, key) in keys { state.succeed(key, protection) }
        }
    }

    /// Returns a class's key and restarts the class's inactivity time.
    func key(_ protection: ProtectionClass) throws(CofferError) -> ClassKey {
        let now = clock.bootTime()
        dropIdleKeys(now)
        let (key, refusal, isKept) = state.withLock { state in
            let key = state.use(protection, now: now, inactivity: inactivity)
            return (key, key == nil ? state.refusal(protection) : nil, !state.isInBackground)
        }
        guard let key else { throw refusal ?? CofferError.locked }
        if isKept { onUse(protection, key) }
        return key
    }

    /// Returns a class's key; `nil` if the store has none. Calling this method does not count as use of the
    /// key.
    func present(_ protection: ProtectionClass) -> ClassKey? {
        dropIdleKeys(clock.bootTime())
        return state.withLock { $0.held[protection]?.key }
    }

    /// All keys in the store. Reading them does not count as use.
    var all: [ProtectionClass: ClassKey] {
        dropIdleKeys(clock.bootTime())
        return state.withLock { $0.held.mapValues(\.key) }
    }

    /// Returns whether the class, or any class if `protection` is `nil`, lost its key because another process
    /// replaced it.
    func wasReplaced(_ protection: ProtectionClass?) -> Bool {
        state.withLock { state in
            protection.map { state.replaced.contains($0) } ?? !state.replaced.isEmpty
        }
    }

    /// Whether the vault was wiped.
    var isWiped: Bool { state.withLock { $0.isWiped } }

    /// Whether the store has a key that a lock evicts.
    var isUnlocked: Bool { all.keys.contains { $0.isEvictedOnLock } }

    /// Whether the store has some of the vault's class keys but lacks others.
    var isPartial: Bool {
        dropIdleKeys(clock.bootTime())
        return state.withLock { !$0.lapsed.isEmpty }
    }

    /// The earliest time at which a key from the kernel keyring expires even if it is used; `nil` if no key
    /// has such a time.
    var exactEnd: Duration? {
        dropIdleKeys(clock.bootTime())
        return state.withLock { $0.held.values.compactMap(\.end).min() }
    }

    /// The maximum time for which the keys may be cached without the passcode, unless they are cached until
    /// an exact end. This is the inactivity time if a key that a lock evicts was restored from the kernel
    /// keyring; otherwise, it is `nil`, and there is no maximum.
    var longestCaching: Duration? {
        let isRestored = state.withLock { state in
            state.held.contains { $0.key.isEvictedOnLock && $0.value.isRestored }
        }
        return isRestored ? inactivity : nil
    }

    /// The number of times that the vault was locked, closed or wiped, or lost its keys to a reboot. The
    /// store rejects keys if this number has changed since the work that produced them began. A key that
    /// expires in this store does not change the number.
    var locks: Int { state.withLock { $0.locks } }

    /// The current mark. Long-running work reads the mark before it fetches its first key, and later passes
    /// the mark to ``hasLost(since:only:)``.
    var mark: KeyMark {
        dropIdleKeys(clock.bootTime())
        return state.withLock { $0.mark }
    }

    /// Returns whether the key of `protection` has been evicted since `mark` was read or, if `protection` is
    /// `nil`, whether any key has been both used and evicted since then. Always returns `true` after a wipe.
    func hasLost(since mark: KeyMark, only protection: ProtectionClass? = nil) -> Bool {
        dropIdleKeys(clock.bootTime())
        return state.withLock { $0.isWiped || $0.mark.hasLost(since: mark, only: protection) }
    }

    /// Restarts the inactivity time because the app is now in the background. From then on, using a key no
    /// longer restarts the inactivity time. Repeated calls have no further effect.
    func enterBackground() {
        let now = clock.bootTime()
        dropIdleKeys(now)
        state.withLock { state in
            guard !state.isInBackground else { return }
            state.isInBackground = true
            state.restartIdleTime(now: now, inactivity: inactivity)
        }
    }

    /// Evicts the keys whose inactivity time passed in the background, even if no timer fired, and restarts
    /// the inactivity time of the other keys.
    func enterForeground() {
        let now = clock.bootTime()
        dropIdleKeys(now)
        state.withLock { state in
            guard state.isInBackground else { return }
            state.isInBackground = false
            state.restartIdleTime(now: now, inactivity: inactivity)
        }
    }

    /// Evicts the keys that a lock evicts; returns whether the store had any such keys.
    @discardableResult
    func lock(_ reason: LockReason = .requested) -> Bool {
        let dropped = state.withLock { state in
            let wasOpen = state.isOpen
            state.drop(Set(ProtectionClass.allCases.filter(\.isEvictedOnLock)))
            (state.lapsed, state.replaced) = ([], [])
            state.locks += 1
            return wasOpen
        }
        if dropped { events.post(VaultEvent(.locked, reason)) }
        return dropped
    }

    /// Evicts the keys of `classes`, whose copies in the kernel keyring are gone. Posts
    /// ``VaultEvent/Kind/locked`` if this evicts the last key that a lock evicts.
    func lapse(_ classes: Set<ProtectionClass>, _ reason: LockReason) {
        post(state.withLock { $0.lapse(classes, reason) })
    }

    /// Evicts all keys and, if `wiped` is `true`, accepts no more keys. Returns whether anything changed.
    @discardableResult
    func removeAll(wiped: Bool, _ reason: LockReason = .requested) -> Bool {
        let dropped = state.withLock { state in
            let hadKeys = !state.held.isEmpty
            state.removeAll()
            defer { state.isWiped = state.isWiped || wiped }
            return hadKeys || wiped && !state.isWiped
        }
        if dropped { events.post(wiped ? VaultEvent(.wiped) : VaultEvent(.closed, reason)) }
        return dropped
    }

    /// Evicts the keys that have expired or, after a reboot, all keys.
    private func dropIdleKeys(_ now: Duration) {
        let boot = clock.bootIdentifier()
        let eviction: Eviction? = state.withLock { state in
            if let own = state.boot, own != boot, !state.held.isEmpty {
                state.removeAll()
                return .event(VaultEvent(.closed, .reboot))
            }
            return state.dropOver(now)
        }
        post(eviction)
    }

    private func post(_ eviction: Eviction?) {
        switch eviction {
        case .event(let event): events.post(event)
        case .classes(let classes): events.keysEvicted(of: classes)
        case nil: break
        }
    }

    /// Starts a background task that evicts each key when it expires, so that keys are evicted even if no
    /// caller asks for them.
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

    /// Returns the time until the next key expires; `nil` if no key expires, which ends the background task.
    private func timeToNextEnd() -> Duration? {
        let now = clock.bootTime()
        dropIdleKeys(now)
        return state.withLock { state in
            if let end = state.nextEnd { return end - now }
            state.isWatched = false
            return nil
        }
    }
}
