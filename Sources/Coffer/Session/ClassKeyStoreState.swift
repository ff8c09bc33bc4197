import CofferBase
import CofferCrypto

/// A mark that long work compares: how often the key of each class was dropped, and used.
struct KeyMark: Sendable {
    /// By the class's number.
    fileprivate var losses = [Int](repeating: 0, count: Self.size)
    fileprivate var uses = [Int](repeating: 0, count: Self.size)

    private static let size = 1 + (ProtectionClass.allCases.map { Int($0.rawValue) }.max() ?? 0)

    fileprivate mutating func noteLoss(_ protection: ProtectionClass) {
        losses[Int(protection.rawValue)] += 1
    }

    fileprivate mutating func noteUse(_ protection: ProtectionClass) { uses[Int(protection.rawValue)] += 1 }

    /// Whether a class lost its key since `old`: that one, or any that was used since.
    func hasLost(since old: KeyMark, only protection: ProtectionClass?) -> Bool {
        losses.indices.contains { number in
            guard losses[number] != old.losses[number] else { return false }
            return protection.map { Int($0.rawValue) == number } ?? (uses[number] != old.uses[number])
        }
    }
}

extension ClassKeyStore {
    /// The report of keys that were dropped.
    enum Loss {
        case event(VaultEvent)
        /// Some classes lost their keys, and the session is unlocked still.
        case classes(Set<ProtectionClass>)
    }

    /// One class key, and how long it stays.
    struct Held {
        let key: ClassKey
        /// When it goes for want of use.
        var idleEnd: Duration?
        /// When it goes however much it is used: it is held until then and no longer.
        let end: Duration?

        var nextEnd: Duration? { [idleEnd, end].compactMap(\.self).min() }
    }

    /// The contents of the room.
    struct State {
        var held: [ProtectionClass: Held] = [:]
        /// Classes of the vault without a key here, while others have theirs.
        var lapsed: Set<ProtectionClass> = []
        var isWiped = false
        var locks = 0
        var mark = KeyMark()
        /// No key goes for its time before this.
        var nextEnd: Duration?
        var isWatched = false
        /// The boot in which the keys came in.
        var boot: String?

        /// Whether there is a key that a lock drops.
        var isOpen: Bool { held.keys.contains { $0.isEvictedOnLock } }

        mutating func admit(
            _ key: ClassKey, _ protection: ProtectionClass, _ term: HeldTerm?, now: Duration,
            inactivity: Duration?
        ) {
            let former = held[protection].flatMap { $0.key.id == key.id ? $0 : nil }
            var idleEnd = protection.isEvictedOnLock ? inactivity.map { now + $0 } : nil
            if let term, !term.isExact, let end = idleEnd {
                // Taking a key is no use of it: it stays no longer than where it comes from.
                idleEnd = max(min(end, term.end ?? end), former?.idleEnd ?? .zero)
            }
            var end = term.flatMap { $0.isExact ? $0.end : nil }
            // A key that came in by a passcode, too, is bound to no time elsewhere.
            if let former, former.end == nil { end = nil }
            held[protection] = Held(key: key, idleEnd: idleEnd, end: end)
            lapsed.remove(protection)
            findNextEnd()
        }

        mutating func use(_ protection: ProtectionClass, now: Duration, inactivity: Duration?) -> ClassKey? {
            guard !isWiped, let entry = held[protection] else { return nil }
            // The next end may now be later than noted; then nothing is found to be over, once.
            if entry.idleEnd != nil { held[protection]?.idleEnd = inactivity.map { now + $0 } }
            mark.noteUse(protection)
            return entry.key
        }

        /// Why there is no key of a class.
        func refusal(_ protection: ProtectionClass) -> CofferError {
            if isWiped { return .wiped }
            if isOpen, lapsed.contains(protection) {
                return CofferError(
                    .locked,
                    "The key of the class \(protection.name) went for want of use: unlock the vault again.")
            }
            return protection.requiresPasscode && isOpen ? .requiresPasscode : .locked
        }

        mutating func drop(_ classes: Set<ProtectionClass>) {
            for protection in classes {
                held[protection] = nil
                mark.noteLoss(protection)
            }
            findNextEnd()
        }

        mutating func dropAll() {
            drop(Set(ProtectionClass.allCases))
            lapsed = []
            locks += 1
        }

        mutating func lapse(_ classes: Set<ProtectionClass>, _ reason: LockReason) -> Loss? {
            let going = classes.filter { held[$0] != nil }
            guard !going.isEmpty else { return nil }
            let wasOpen = isOpen
            drop(going)
            guard isOpen || !wasOpen else {
                lapsed = []
                return .event(VaultEvent(.locked, reason))
            }
            lapsed.formUnion(going)
            return .classes(going)
        }

        /// Drops the keys whose time is over.
        mutating func dropOver(_ now: Duration) -> Loss? {
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
