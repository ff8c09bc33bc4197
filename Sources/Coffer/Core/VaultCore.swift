import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Synchronization
import SystemPackage

/// The state that a vault's parts share: the directory, the device key, the class keys and the clock. The
/// methods are synchronous and can block.
final class VaultCore: Sendable {
    let home: VaultDirectory
    let device: DeviceKey
    let clock: VaultClock
    let keys: ClassKeyStore
    let cachedKeys: KernelKeyCache
    /// The token storage that the vault directory records.
    let activeStorage: ActiveStorage
    /// ``activeStorage``, or the storage that a test wraps around it. All code reads and changes envelopes
    /// through this property.
    let storage: any ItemStorage
    /// The tokens that are never written to the storage.
    let ephemeralTokens: EphemeralTokens
    /// The tickets that prove that a pending value comes from a process that knew the stored value. A lock
    /// keeps the tickets.
    let tickets = ReplacementTickets()
    /// The values that this vault object stored while the vault was locked.
    let ownPending = OwnPendingTokens()
    let actions: VaultActions
    /// The administrator's policy, as read when the vault was opened or at the last unlock, or the error that
    /// prevented reading it.
    let managed: PolicyState
    /// The time in seconds without use after which the vault locks: the vault's own, as read when the vault
    /// was opened, or the policy's, if that is shorter; `nil` if the vault never locks for lack of use.
    var inactivity: Int? { managed.inactivity }
    /// The keybag's status when its keys were last found to be those in memory.
    let checkedKeybag = Mutex<FileStatus?>(nil)
    /// The mark of an unlock whose keys are to be cached in the kernel keyring.
    let unlockMark = Mutex<UnlockMark?>(nil)
    /// The monitor of lock triggers; `nil` until the caller starts it.
    let lockMonitor = Mutex<LockMonitor?>(nil)
    /// Delivers events about the keys.
    let events: EventBroadcaster
    /// The stores outside this library, which a wipe closes before it finishes.
    let registered = Mutex<[WeakObserver]>([])

    /// The registered stores that are still alive.
    var stores: [any VaultObserver] { registered.withLock { $0.compactMap(\.store) } }

    /// Creates a vault's core. If `allowingCorruptKeybag` is `true`, ignores an unreadable keybag, because a
    /// signed command needs no class key. A test uses `decorate` to wrap a test storage around the vault's
    /// storage.
    init(
        home: VaultDirectory, device: DeviceKey, clock: VaultClock, actions: VaultActions,
        allowingCorruptKeybag: Bool = false,
        decoratingStorage decorate: (any ItemStorage) -> any ItemStorage = { $0 }
    ) throws(CofferError) {
        let home = try home.pinned(to: device.vaultID)
        self.home = home
        self.device = device
        self.clock = clock
        self.actions = actions
        let activeStorage = ActiveStorage(home: home, device: device)
        self.activeStorage = activeStorage
        storage = decorate(activeStorage)
        let vault = try home.openVault()
        let inactivity = try home.mappingMissingFiles { () throws(CofferError) in
            do throws(CofferError) {
                return try Self.readKeybag(device: device, in: vault).inactivity
            } catch {
                guard allowingCorruptKeybag else { throw error }
                return nil
            }
        }
        let managed = PolicyState(
            PolicySources(home: home, device: device), inactivity: inactivity)
        self.managed = managed
        let cachedKeys = KernelKeyCache(
            vaultID: device.vaultID, inactivity: managed.inactivity, clock: clock)
        self.cachedKeys = cachedKeys
        let events = EventBroadcaster()
        self.events = events
        let keys = ClassKeyStore(
            clock: clock, inactivity: managed.inactivity.map { .seconds($0) }, events: events
        ) {
            // Without the policy, the time for which a key may stay is not known.
            if managed.isKnown { cachedKeys.renew($0, $1) }
        }
        self.keys = keys
        let ephemeralTokens = EphemeralTokens(
            vaultID: device.vaultID, timeout: managed.inactivity, keys: keys, boot: clock.bootIdentifier)
        self.ephemeralTokens = ephemeralTokens
        let (tickets, ownPending) = (tickets, ownPending)
        // Weak, because the ephemeral tokens reference the class key store, and that references the
        // broadcaster.
        events.observe { [weak ephemeralTokens] event in
            if event.kind.evictsKeys { ephemeralTokens?.clear() }
            guard event.kind == .closed || event.kind == .wiped else { return }
            tickets.clear()
            ownPending.clear()
        }
        events.onKeyEviction(while: ephemeralTokens) { [weak ephemeralTokens] classes in
            ephemeralTokens?.clear(classes)
        }
        VaultRegistry.add(self)
        home.beforeUnlocking { [weak self] in self?.raiseAnchorsAfterWork() }
    }

    /// Evicts the keys that a lock evicts, from memory and from the kernel keyring.
    func lock(_ reason: LockReason) {
        let wasOpen = keys.lock(reason)
        // Another process may have cached the keys that are removed here.
        if cachedKeys.remove(all: false), !wasOpen { events.post(VaultEvent(.locked, reason)) }
    }

    /// Evicts every key, from memory and from the kernel keyring, as a logout does.
    func close(_ reason: LockReason) {
        let hadKeys = keys.removeAll(wiped: false, reason)
        dropPendingState()
        if cachedKeys.remove(all: true), !hadKeys { events.post(VaultEvent(.closed, reason)) }
    }

    /// Removes every key from memory and accepts no more keys.
    func destroyKeys() {
        keys.removeAll(wiped: true)
        dropPendingState()
        device.destroyInMemory()
    }

    /// Discards the state that a lock keeps so that values can be stored while the vault is locked.
    func dropPendingState() {
        tickets.clear()
        ownPending.clear()
    }

    /// Evicts the keys that expired in, or were removed from, the kernel keyring.
    func evictExpiredKeys() {
        // A key that was replaced is not one that expired.
        if !cachedKeys.expired.classes.isEmpty { _ = try? refreshKeys() }
        let expired = cachedKeys.expired
        if !expired.classes.isEmpty { lapse(expired.classes, isEverything: expired.isEverything) }
    }

    /// Evicts the keys of `classes`, which are gone from the kernel keyring. If all tracked keys are gone,
    /// locks the vault.
    private func lapse(_ classes: Set<ProtectionClass>, isEverything: Bool) {
        cachedKeys.removeEntries(of: classes)
        guard isEverything else { return keys.lapse(classes, .kernelKeyExpired) }
        // Remove nothing from the kernel keyring: keys that are there now come from a later unlock.
        keys.lock(.kernelKeyExpired)
    }

    func act(on signal: LockSignal) {
        switch signal {
        case .lock(let reason): lock(reason)
        case .close(let reason): close(reason)
        case .awake, .collectionLocked, .collectionChanged: break
        }
    }

    static func readKeybag(device: DeviceKey, in vault: borrowing Descriptor) throws(CofferError) -> Keybag {
        try Keybag.record.read(device: device, in: vault).payload
    }

    func readKeybag() throws(CofferError) -> Keybag { try keybagRecord().payload }

    private func keybagRecord() throws(CofferError) -> AuthenticatedRecord<Keybag>.Contents {
        let vault = try home.openVault()
        return try home.mappingMissingFiles { () throws(CofferError) in
            try Keybag.record.read(device: device, in: vault)
        }
    }

    func readAttempts() throws(CofferError) -> AttemptRecord {
        let vault = try home.openVault()
        return try home.mappingMissingFiles { () throws(CofferError) in
            try AttemptRecord.record.read(device: device, in: vault).payload
        }
    }

    /// Unlocks the vault. With `isSparing`, refuses to try the passcode after a wrong one, or where a
    /// wrong one would erase the vault.
    func unlock(with passcode: Passcode?, isSparing: Bool = false) throws(CofferError) {
        let locks = keys.locks
        let policy = try policyForOpening()
        let unwrapped: [ProtectionClass: ClassKey]
        do throws(CofferError) {
            unwrapped = try evaluating(passcode, isSparing: isSparing) {
                (keys, stored, vault) throws(CofferError) in
                try policy.check(currentPasscode: stored.payload.passcode == nil ? nil : passcode)
                notePolicy(policy, stored.payload, in: vault)
                try finishChanges(stored.payload, in: vault)
                return keys
            }
        } catch {
            guard error.code == .readOnly, let keys = try? keysOnReadOnlyDisk() else { throw error }
            try policy.check(currentPasscode: nil)
            unwrapped = keys
        }
        checkedKeybag.withLock { $0 = nil }
        guard keys.insert(unwrapped, since: locks) else {
            throw keys.isWiped ? CofferError.wiped : CofferError.lockedMeanwhile
        }
        // A vault without a passcode has no key of the class that requires one.
        let wanted = ProtectionClass.allCases.filter { !$0.requiresPasscode }
        keys.note(missing: Set(wanted.filter { unwrapped[$0] == nil }))
        // The unlock itself is done. An error here recurs, and is reported, when tokens are read.
        try? takeBackPendingTokens()
        try? drainPendingTokens()
    }

    /// Unwraps the class keys of a vault without a passcode, where nothing can be written. No attempt must be
    /// recorded for such a vault. Returns `nil` if a passcode is set.
    private func keysOnReadOnlyDisk() throws(CofferError) -> [ProtectionClass: ClassKey]? {
        try home.withReadOnlyVault { (vault) throws(CofferError) -> [ProtectionClass: ClassKey]? in
            let keybag = try Keybag.record.read(device: device, in: vault).payload
            guard keybag.passcode == nil else { return nil }
            try checkAnchors(in: vault)
            let kek = try Keybag.wrappingKey(device: device)
            return try asCorrupt { () throws(CofferError) in
                try keybag.unwrap(under: kek, vaultID: device.vaultID)
            }
        }
    }

    /// Evaluates the passcode as an unlock does, but inserts no keys. If no passcode is set, accepts any
    /// passcode.
    func verify(_ passcode: Passcode?) throws(CofferError) {
        _ = try evaluating(passcode) { (keys, _, _) throws(CofferError) in keys }
    }

    /// Finishes what an interrupted change left undone. Changes no format: see ``VaultUpgrade``.
    func finishChanges(_ keybag: Keybag, in vault: borrowing Descriptor) throws(CofferError) {
        if keybag.hasOrphans { _ = try actions.removeOrphans(self, vault) }
        // A slot of no use that cannot be overwritten now is overwritten at a later unlock.
        try? RecoveryRecord.settle(keybag.recoverySlots, in: vault)
    }

    func changePasscode(to new: Passcode?, current: Passcode?) throws(CofferError) -> PasscodeDependentItems {
        var destroyed = PasscodeDependentItems(tokens: 0, files: 0, databases: 0)
        let policy = try policyForOpening()
        let locks = keys.locks
        let unwrapped = try evaluating(current) { (keys, stored, vault) throws(CofferError) in
            let old = stored.payload
            if let new { try old.policy.check(new) }
            try policy.check(newPasscode: new, old.policy)
            let wanted = ProtectionClass.all(hasPasscode: new != nil)
            let missing = wanted.filter { keys[$0] == nil }
            var all = keys.merging(try ClassKey.make(for: missing, vaultID: device.vaultID)) { old, _ in old }
            all = all.filter { wanted.contains($0.key) }
            try updateKeybag(stored, in: vault) { (changed) throws(CofferError) in
                // A passcode that replaces another keeps its cost; a first passcode gets the standard cost.
                let cost = old.passcode?.cost ?? .standard
                try changed.protect(all, with: new, cost: cost, device: device)
                changed.hasOrphans = all.count < keys.count
            }
            // From here on the items of a removed class are unreadable. Remove them now or at the next
            // unlock.
            if all.count < keys.count { destroyed = try actions.removeOrphans(self, vault) }
            return all
        }
        checkedKeybag.withLock { $0 = nil }
        // The passcode is changed, but a lock in the meantime still applies.
        keys.replace(with: unwrapped, since: locks)
        if new == nil {
            cachedKeys.remove(.whenPasscodeSetThisDeviceOnly)
            events.keysEvicted(of: [.whenPasscodeSetThisDeviceOnly])
        }
        return destroyed
    }

    /// Returns the key under which to store a new item, after ``refreshKeys()``. For the class that requires
    /// a passcode, throws `refused` unless the key is the keybag's current one, because another process may
    /// have removed the passcode.
    func keyForStoring(_ protection: ProtectionClass) throws(CofferError) -> ClassKey {
        try refreshKeys()
        let key = try keys.key(protection)
        guard protection.requiresPasscode else { return key }
        guard try readKeybag().keys[protection]?.id == key.id else { throw CofferError.requiresPasscode }
        return key
    }

    /// Derives a key from the passcode without holding the vault directory's lock, because the derivation is
    /// slow and can fail. On its own, the derived key does not reveal whether the passcode is right.
    /// `derived` is `nil` if no passcode is set.
    private func derive(
        _ passcode: Passcode, isSparing: Bool
    ) throws(CofferError) -> (keybag: AuthenticatedRecord<Keybag>.Contents, derived: DerivedPasscode?) {
        let stored = try keybagRecord()
        let keybag = stored.payload
        guard let parameters = keybag.passcode else { return (stored, nil) }
        var limiter = limiter(keybag)
        limiter.isSparing = isSparing
        let attempts = try readAttempts()
        try limiter.throwIfSpared(attempts)
        try limiter.throwIfTooSoon(attempts)
        return (stored, try DerivedPasscode(passcode, parameters, device: device))
    }

    /// Unwraps the class keys with `passcode`, under the vault directory's lock and the rules of
    /// ``AttemptRecord``, and passes them to `body`.
    ///
    /// With `askingAnchors`, throws `rolledBack` or `anchorLost` first, as ``checkAnchors(in:)`` does, and
    /// lets the anchors know of the attempt before the passcode is compared.
    func evaluating(
        _ passcode: Passcode?, askingAnchors: Bool = true, isSparing: Bool = false,
        _ body: (
            _ keys: [ProtectionClass: ClassKey], _ keybag: AuthenticatedRecord<Keybag>.Contents,
            _ vault: borrowing Descriptor
        ) throws(CofferError) -> [ProtectionClass: ClassKey]
    ) throws(CofferError) -> [ProtectionClass: ClassKey] {
        // The policy limits the number of attempts.
        _ = try managed.policy()
        let early = try passcode.map { (passcode) throws(CofferError) in
            try derive(passcode, isSparing: isSparing)
        }
        let outcome: AttemptOutcome = try home.withExclusiveVault {
            (vault) throws(CofferError) in
            let stored = try Keybag.record.read(
                device: device, in: vault, repairing: true, reusing: early?.keybag)
            let keybag = stored.payload
            if askingAnchors { try checkAnchors(in: vault) }
            guard let parameters = keybag.passcode else {
                let kek = try Keybag.wrappingKey(device: device)
                let keys = try asCorrupt { () throws(CofferError) in
                    try keybag.unwrap(under: kek, vaultID: device.vaultID)
                }
                return .unlocked(try body(keys, stored, vault))
            }
            guard let passcode else {
                throw CofferError(.locked, "This vault is locked. Unlock the vault with its passcode.")
            }
            // Another process may have changed the passcode since.
            let isCurrent = early?.derived?.parameters == parameters
            let again = isCurrent ? nil : try DerivedPasscode(passcode, parameters, device: device)
            guard let derived = again ?? early?.derived else { throw CofferError.locked }
            var counter = limiter(keybag, try rollbackGuard(in: vault))
            counter.isSparing = isSparing
            if askingAnchors {
                counter.anchor = { (vault) throws(CofferError) in
                    try self.raiseAnchors(in: vault, isStrict: true)
                }
            }
            guard try !counter.mustErase(after: derived, keybag: keybag, in: vault) else {
                return .limitReached
            }
            let keys = try asCorrupt { () throws(CofferError) in
                try keybag.unwrap(under: derived.wrappingKey, vaultID: device.vaultID)
            }
            return .unlocked(try body(keys, stored, vault))
        }
        switch outcome {
        case .unlocked(let keys): return keys
        case .limitReached:
            try actions.erase(self)
            throw CofferError(
                .wiped, "This vault was erased after too many wrong passcodes.", remedy: .activateVault)
        }
    }

    /// The outcome of a passcode attempt that does not throw. A refused attempt throws, as does a wrong
    /// passcode if attempts are left.
    private enum AttemptOutcome {
        case unlocked([ProtectionClass: ClassKey])
        /// No attempts are left: the vault must be erased.
        case limitReached
    }

    /// Runs `body` and throws `corrupt` if a key cannot be unwrapped: the passcode is right, or none is set,
    /// so the keybag must be damaged.
    func asCorrupt<Result>(_ body: () throws(CofferError) -> Result) throws(CofferError) -> Result {
        do throws(CofferError) {
            return try body()
        } catch {
            guard error.code == .notAuthentic else { throw error }
            throw CofferError(.corrupt, "The keybag is damaged.", remedy: .restoreOrWipeVault)
        }
    }
}
