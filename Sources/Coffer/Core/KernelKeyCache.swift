import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Synchronization

/// A cache that keeps class keys in the kernel keyring for the same user's later processes.
///
/// Any of this user's processes can put a key in the kernel keyring, so a cached key is used only if it
/// matches the class's public key in the keybag.
package final class KernelKeyCache: Sendable {
    /// A class whose key this process has stored in the kernel keyring or read from it, and has not removed.
    private struct Entry {
        let publicKey: [UInt8]
        /// Whether use restarts the key's timeout, as far as this process knows; the cached key itself is
        /// authoritative.
        var isRenewable: Bool
    }

    private let vaultID: VaultID
    private let currentInactivity: @Sendable () -> Int?
    /// The time in seconds without use after which a cached key expires; `nil` for never.
    private var inactivity: Int? { currentInactivity() }
    /// The clock, which also identifies the boot. Keys from another boot are not used.
    private let clock: VaultClock
    /// The tracked classes. A lock evicts the keys of all of them.
    private let entries = Mutex<[ProtectionClass: Entry]>([:])

    init(vaultID: VaultID, inactivity: @autoclosure @escaping @Sendable () -> Int?, clock: VaultClock) {
        self.vaultID = vaultID
        currentInactivity = inactivity
        self.clock = clock
    }

    /// The length in bytes of the prefix that a vault's key names share: `coffer:` and the vault's
    /// identifier.
    static let prefixSize = 7 + 36

    package static func name(_ protection: ProtectionClass, vaultID: VaultID) -> String {
        "coffer:\(vaultID):\(protection.name)"
    }

    /// Returns the names of a vault's class keys in the kernel keyring.
    package static func names(of vaultID: VaultID) -> [String] {
        ProtectionClass.allCases.map { name($0, vaultID: vaultID) }
    }

    private func name(_ protection: ProtectionClass) -> String {
        Self.name(protection, vaultID: vaultID)
    }

    /// Stores `keys`. Keys that a lock evicts stay for exactly `seconds` or, if `seconds` is `nil`, for the
    /// inactivity time after each use. If any key cannot be stored, removes all keys.
    func store(_ keys: [ProtectionClass: ClassKey], seconds: Int?) throws(CofferError) {
        do throws(CofferError) {
            for (protection, key) in keys {
                let publicKey = try key.publicKey(vaultID: vaultID)
                let timeout = protection.isEvictedOnLock ? seconds ?? inactivity : nil
                try KernelCachedKey.store(
                    key.key, name: name(protection), timeout: timeout, isRenewable: seconds == nil,
                    boot: clock.bootIdentifier(), now: clock.bootTime())
                guard protection.isEvictedOnLock else { continue }
                let entry = Entry(publicKey: publicKey, isRenewable: seconds == nil)
                entries.withLock { $0[protection] = entry }
            }
            try KernelKeyringStorage.prepare(vaultID: vaultID, timeout: seconds ?? inactivity)
        } catch {
            remove(all: true)
            throw error
        }
    }

    /// A vault's cached keys and the times until which they stay.
    struct Taken {
        var keys: [ProtectionClass: ClassKey] = [:]
        var terms: [ProtectionClass: CachedKeyTerm] = [:]
        /// The vault's classes that have no cached key.
        var lacking: Set<ProtectionClass> = []

        /// Returns the time until the last of the keys that a lock evicts expires; `nil` if there is no such
        /// key, or if one stays until a reboot.
        func timeLeft(now: Duration) -> Duration? {
            let ends = terms.filter { $0.key.isEvictedOnLock }.map(\.value.end)
            let known = ends.compactMap { $0 }
            guard known.count == ends.count, let last = known.max() else { return nil }
            return max(.zero, last - now)
        }
    }

    /// Returns the cached keys, with their identifiers from `keybag`. Returns no keys if none are cached or
    /// there is no kernel keyring. Ignores a key that does not match the keybag's public key, because such a
    /// key does not belong to this vault.
    func read(_ keybag: Keybag) throws(CofferError) -> Taken {
        var taken = Taken()
        for (protection, wrapped) in keybag.keys {
            // Without a keyring, or without a public key in an earlier release's keybag, no key is cached.
            guard let publicKey = keybag.publicKeys[protection],
                let held = try? own(protection, publicKey)
            else {
                taken.lacking.insert(protection)
                continue
            }
            taken.terms[protection] = CachedKeyTerm(end: held.end, isExact: !held.isRenewable)
            let key = try ClassKey(
                held.takeKey(), id: wrapped.id, generation: wrapped.generation, vaultID: vaultID)
            key.former = try keybag.formerKey(of: key, protection, vaultID: vaultID)
            taken.keys[protection] = key
        }
        return taken
    }

    /// Starts to track keys that were read: from then on, using a key in this process restarts its timeout in
    /// the kernel keyring, and a key that disappears from the kernel keyring is evicted in this process.
    func share(_ taken: Taken, _ keybag: Keybag) {
        for (protection, term) in taken.terms where protection.isEvictedOnLock {
            guard let publicKey = keybag.publicKeys[protection] else { continue }
            entries.withLock { $0[protection] = Entry(publicKey: publicKey, isRenewable: !term.isExact) }
        }
    }

    /// Returns a class's cached key; `nil` if there is none that matches `publicKey`.
    private func own(
        _ protection: ProtectionClass, _ publicKey: [UInt8]
    ) throws(CofferError) -> KernelCachedKey? {
        let held = try KernelCachedKey.read(
            name: name(protection), boot: clock.bootIdentifier(), now: clock.bootTime())
        guard let held, try ClassKey.publicKey(of: held.key, vaultID: vaultID) == publicKey else {
            return nil
        }
        return held
    }

    /// Replaces cached keys by their successors, which keep the terms of the keys that they replace. A key
    /// that is not cached gets no cached successor.
    func replace(with successors: [ProtectionClass: ClassKey]) {
        for (protection, key) in successors {
            guard let former = key.former, let formerPublic = try? former.publicKey(vaultID: vaultID),
                let held = try? own(protection, formerPublic)
            else { continue }
            let now = clock.bootTime()
            let timeout = held.end.map { max(1, Int(($0 - now).components.seconds)) }
            let isRenewable = held.isRenewable
            // Without a cached key, later commands ask for the passcode.
            do throws(CofferError) {
                try KernelCachedKey.store(
                    key.key, name: name(protection), timeout: timeout, isRenewable: isRenewable,
                    boot: clock.bootIdentifier(), now: now)
            } catch {
                continue
            }
            guard let publicKey = try? key.publicKey(vaultID: vaultID) else { continue }
            entries.withLock { entries in
                guard entries[protection] != nil else { return }
                entries[protection] = Entry(publicKey: publicKey, isRenewable: isRenewable)
            }
        }
    }

    /// Returns whether a class's key, which the keybag no longer has, is still cached.
    func hasCached(_ key: ClassKey, _ protection: ProtectionClass) -> Bool {
        guard let publicKey = try? key.publicKey(vaultID: vaultID) else { return false }
        return ((try? own(protection, publicKey)) ?? nil) != nil
    }

    /// Restarts the timeouts of the key that was used and of the ephemeral tokens, but not of other classes'
    /// keys.
    func renew(_ protection: ProtectionClass, _ key: ClassKey) {
        guard let inactivity, entries.withLock({ $0[protection]?.isRenewable == true }) else { return }
        let now = clock.bootTime()
        // Renew the tokens first, so that the exact time of a key can replace this timeout below.
        KernelKeyringStorage.renew(vaultID: vaultID, timeout: inactivity)
        let renewal = try? KernelCachedKey.renew(
            key.key, name: name(protection), timeout: inactivity, boot: clock.bootIdentifier(), now: now)
        guard case .exact(let end) = renewal else { return }
        entries.withLock { $0[protection]?.isRenewable = false }
        guard let end else { return }
        let remaining = Int((end - now).components.seconds)
        KernelKeyringStorage.renew(vaultID: vaultID, timeout: min(max(remaining, 1), inactivity))
    }

    /// The tracked classes whose keys are gone, because they expired or another process removed them, and
    /// whether the keys of all tracked classes are gone.
    var expired: (classes: Set<ProtectionClass>, isEverything: Bool) {
        let entries = entries.withLock { $0 }
        var gone: Set<ProtectionClass> = []
        for (protection, entry) in entries {
            // A key that cannot be viewed may still be there.
            let held = try? own(protection, entry.publicKey) == nil
            if held == true { gone.insert(protection) }
        }
        return (gone, gone.count == entries.count)
    }

    /// Returns whether this process has stored the key of a class in the kernel keyring, or has read it from
    /// there.
    func isTracking(_ protection: ProtectionClass) -> Bool { entries.withLock { $0[protection] != nil } }

    /// Stops tracking classes whose keys are gone.
    func removeEntries(of classes: Set<ProtectionClass>) {
        entries.withLock { entries in entries = entries.filter { !classes.contains($0.key) } }
    }

    /// Removes the keys that a lock evicts or, if `all` is `true`, all keys. Returns whether any of these
    /// keys existed.
    @discardableResult
    func remove(all: Bool) -> Bool {
        entries.withLock { $0 = [:] }
        return Self.remove(vaultID: vaultID, all: all)
    }

    /// Removes one class's key. Also removes the marks of unlocks in progress, because such an unlock may be
    /// about to store that key.
    func remove(_ protection: ProtectionClass) {
        removeEntries(of: [protection])
        UnlockMark.removeAll(of: vaultID)
        _ = try? KernelKeyring.remove(name(protection))
    }

    /// Returns the keyring of ephemeral tokens, which every lock removes; `nil` if there is none.
    func volatileRing() throws(CofferError) -> KernelSubkeyring? { try Self.volatileRing(of: vaultID) }

    /// Returns the keyring of a vault's ephemeral tokens; `nil` if there is none.
    static func volatileRing(of vaultID: VaultID) throws(CofferError) -> KernelSubkeyring? {
        try KernelSubkeyring.find(KernelKeyringStorage.name(vaultID))
    }

    /// Returns the keyring of ephemeral tokens, creating it if necessary.
    func makeVolatileRing() throws(CofferError) -> KernelSubkeyring {
        if let ring = try volatileRing() { return ring }
        return try KernelKeyringStorage.make(vaultID: vaultID, timeout: inactivity)
    }

    /// The entries of a vault that a removal left in the kernel keyring.
    struct Remains {
        /// The names of the keys and rings that are still there.
        var found: [String] = []
        /// The names of the keys and rings that exist but that another process hid from this one, which can
        /// therefore neither read nor remove them.
        var hidden: [String] = []
        /// The error if the kernel keyring cannot be searched, although it exists.
        var doubt: CofferError?
    }

    /// Returns what is left of the keys of a vault's `classes` and of the keyring of its ephemeral tokens and
    /// session-only files.
    static func remains(of vaultID: VaultID, classes: [ProtectionClass]) -> Remains {
        var remains = Remains()
        let keys = classes.map { (name: name($0, vaultID: vaultID), isRing: false) }
        for (name, isRing) in keys + [(name: KernelKeyringStorage.name(vaultID), isRing: true)] {
            do throws(CofferError) {
                switch try KernelKeyring.presence(of: name, isRing: isRing) {
                case .absent: break
                case .found: remains.found.append(name)
                case .hidden: remains.hidden.append(name)
                }
            } catch {
                // A kernel without keyrings holds no keys.
                if error.code != .unsupported { remains.doubt = error }
            }
        }
        return remains
    }

    @discardableResult
    static func remove(vaultID: VaultID, all: Bool) -> Bool {
        var hadAny = false
        // Remove the marks first: an unlock that still finds its mark after it stored its keys stored them
        // before this step, so the loop removes them.
        UnlockMark.removeAll(of: vaultID)
        for protection in ProtectionClass.allCases where all || protection.isEvictedOnLock {
            if (try? KernelKeyring.remove(name(protection, vaultID: vaultID))) == true { hadAny = true }
        }
        KernelKeyringStorage.remove(vaultID: vaultID)
        return hadAny
    }
}

/// The term for which a key is cached.
struct CachedKeyTerm: Equatable {
    /// The time since boot at which the key expires; `nil` if the key stays until a reboot.
    let end: Duration?
    /// Whether the end is exact. Use of the key does not postpone an exact end.
    let isExact: Bool
}
