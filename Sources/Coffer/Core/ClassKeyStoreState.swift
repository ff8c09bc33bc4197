import CofferBase
import CofferCrypto
import CofferVault

/// A record of how often each class's key was evicted and used, with which long-running work detects that it
/// has lost a key.
struct KeyMark: Sendable {
    /// Indexed by the class's raw value.
    fileprivate var evictions = [Int](repeating: 0, count: Self.size)
    fileprivate var uses = [Int](repeating: 0, count: Self.size)

    private static let size = 1 + (ProtectionClass.allCases.map { Int($0.rawValue) }.max() ?? 0)

    fileprivate mutating func noteEviction(_ protection: ProtectionClass) {
        evictions[Int(protection.rawValue)] += 1
    }

    fileprivate mutating func noteUse(_ protection: ProtectionClass) { uses[Int(protection.rawValue)] += 1 }

    /// Returns whether the key of `protection` has been evicted since `old` or, if `protection` is `nil`,
    /// whether any key has been both used and evicted since then.
    func hasLost(since old: KeyMark, only protection: ProtectionClass?) -> Bool {
        evictions.indices.contains { number in
            guard evictions[number] != old.evictions[number] else { return false }
            return protection.map { Int($0.rawValue) == number } ?? (uses[number] != old.uses[number])
        }
    }
}

extension ClassKeyStore {
    /// A notification about evicted keys.
    enum Eviction {
        case event(VaultEvent)
        /// Some classes lost their keys, but the vault is still unlocked.
        case classes(Set<ProtectionClass>)
    }

    /// A class key and the times at which it is evicted.
    struct Held {
        var key: ClassKey
        /// The time at which the key is evicted if it is not used before then; `nil` if the key is never
        /// evicted for lack of use.
        var idleEnd: Duration?
        /// The exact time at which the key is evicted even if it is used; `nil` for none.
        let end: Duration?
        /// Whether the key comes only from the kernel keyring and was not unlocked in this process with the
        /// passcode.
        let isRestored: Bool

        var nextEnd: Duration? { [idleEnd, end].compactMap(\.self).min() }
    }

    /// The contents of the store.
    struct State {
        var held: [ProtectionClass: Held] = [:]
        /// The vault's classes whose keys the store lacks although it has the keys of other classes.
        var lapsed: Set<ProtectionClass> = []
        /// The classes for which the keybag, which is from an earlier release, has no key.
        var missing: Set<ProtectionClass> = []
        /// The classes that lost their keys because another process replaced these, unless keys were lost for
        /// another reason since.
        var replaced: Set<ProtectionClass> = []
        var isWiped = false
        var locks = 0
        var mark = KeyMark()
        /// The time before which no key expires; `nil` if no key expires.
        var nextEnd: Duration?
        var isWatched = false
        /// The identifier of the boot during which the keys were inserted.
        var boot: String?
        /// Whether the app is in the background, where using a key does not postpone its eviction.
        var isInBackground = false

        /// Whether there is a key that a lock evicts.
        var isOpen: Bool { held.keys.contains { $0.isEvictedOnLock } }

        mutating func insert(
            _ key: ClassKey, _ protection: ProtectionClass, _ term: CachedKeyTerm?, now: Duration,
            inactivity: Duration?
        ) {
            let former = held[protection].flatMap { $0.key.id == key.id ? $0 : nil }
            var idleEnd = protection.isEvictedOnLock ? inactivity.map { now + $0 } : nil
            if let term, !term.isExact, let end = idleEnd {
                // Reading a key from the kernel keyring does not count as use: the key stays here no longer
                // than there.
                idleEnd = max(min(end, term.end ?? end), former?.idleEnd ?? .zero)
            }
            var end = term.flatMap { $0.isExact ? $0.end : nil }
            // If the store already has this key without an exact time, as after a passcode, the key gets
            // none.
            if let former, former.end == nil { end = nil }
            let isRestored = term != nil && former?.isRestored ?? true
            held[protection] = Held(key: key, idleEnd: idleEnd, end: end, isRestored: isRestored)
            lapsed.remove(protection)
            missing.remove(protection)
            replaced.remove(protection)
            findNextEnd()
        }

        /// Replaces a class's key by `key`, unless the class has no key or a newer one, which another thread
        /// got in the meantime.
        mutating func succeed(_ key: ClassKey, _ protection: ProtectionClass) {
            guard let own = held[protection]?.key, own.generation < key.generation else { return }
            held[protection]?.key = key
        }

        mutating func use(_ protection: ProtectionClass, now: Duration, inactivity: Duration?) -> ClassKey? {
            guard !isWiped, let entry = held[protection] else { return nil }
            // The next end may now be later than stored; then one check finds nothing that expired.
            if entry.idleEnd != nil, !isInBackground {
                held[protection]?.idleEnd = inactivity.map { now + $0 }
            }
            mark.noteUse(protection)
            return entry.key
        }

        /// Restarts the inactivity time of every key that a lock evicts.
        mutating func restartIdleTime(now: Duration, inactivity: Duration?) {
            for (protection, entry) in held where entry.idleEnd != nil {
                held[protection]?.idleEnd = inactivity.map { now + $0 }
            }
            findNextEnd()
        }

        /// Returns the error for a class that has no key in the store.
        func refusal(_ protection: ProtectionClass) -> CofferError {
            if isWiped { return .wiped }
            if replaced.contains(protection) { return .keysReplaced }
            if isOpen, lapsed.contains(protection) {
                return CofferError(
                    .locked, "The class \(protection.name) is no longer unlocked. Unlock the vault again.")
            }
            if isOpen, missing.contains(protection) {
                return .needsUpgrade(
                    "An earlier release created this vault, which has no key for the class "
                        + "\(protection.name).")
            }
            return protection.requiresPasscode && isOpen ? .requiresPasscode : .locked
        }

        mutating func drop(_ classes: Set<ProtectionClass>) {
            for protection in classes {
                held[protection] = nil
                mark.noteEviction(protection)
            }
            findNextEnd()
        }

        mutating func removeAll() {
            drop(Set(ProtectionClass.allCases))
            (lapsed, missing, replaced) = ([], [], [])
            locks += 1
        }

        mutating func lapse(_ classes: Set<ProtectionClass>, _ reason: LockReason) -> Eviction? {
            let going = classes.filter { held[$0] != nil }
            guard !going.isEmpty else { return nil }
            let wasOpen = isOpen
            drop(going)
            // After any other reason, no work goes on by itself.
            replaced = reason == .keysReplaced ? replaced.union(going) : []
            guard isOpen || !wasOpen else {
                lapsed = []
                return .event(VaultEvent(.locked, reason))
            }
            lapsed.formUnion(going)
            return .classes(going)
        }

        /// Evicts the keys that have expired.
        mutating func dropOver(_ now: Duration) -> Eviction? {
            guard let nextEnd, now >= nextEnd else { return nil }
            let isExact = held.values.contains { $0.end.map { now >= $0 } ?? false }
            let over = held.filter { $0.value.nextEnd.map { now >= $0 } ?? false }
            guard !over.isEmpty else {
                findNextEnd()
                return nil
            }
            return lapse(Set(over.keys), isExact ? .kernelKeyExpired : .inactivity)
        }

        private mutating func findNextEnd() { nextEnd = held.values.compactMap(\.nextEnd).min() }
    }
}
