import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Synchronization

/// Class keys cached in the kernel keyring for the next commands of the same user.
///
/// Every process of this user can put a key there, so a key is used only if it belongs to the class's public
/// key in the keybag.
package final class KernelKeyCache: Sendable {
    /// A class whose key this process stored or read there, and has not removed.
    private struct Entry {
        let publicKey: [UInt8]
        /// Whether use restarts its timeout, as far as this process knows; the key itself decides.
        var isRenewable: Bool
    }

    private let vaultID: VaultID
    private let inactivity: Int?
    /// Keys of another boot are not used.
    private let clock: VaultClock
    /// Only classes whose keys a lock evicts.
    private let entries = Mutex<[ProtectionClass: Entry]>([:])

    init(vaultID: VaultID, inactivity: Int?, clock: VaultClock) {
        self.vaultID = vaultID
        self.inactivity = inactivity
        self.clock = clock
    }

    /// The size of the prefix of a vault's key names: `coffer:` and the vault's id.
    static let prefixSize = 7 + 36

    package static func name(_ protection: ProtectionClass, vaultID: VaultID) -> String {
        "coffer:\(vaultID):\(protection.name)"
    }

    /// The names of the keys of every class of a vault.
    package static func names(of vaultID: VaultID) -> [String] {
        ProtectionClass.allCases.map { name($0, vaultID: vaultID) }
    }

    private func name(_ protection: ProtectionClass) -> String {
        Self.name(protection, vaultID: vaultID)
    }

    /// Stores `keys`. Keys that a lock evicts stay for exactly `seconds`, or for the inactivity time after
    /// each use. If one key cannot be stored, none is.
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

    /// The cached keys of a vault, and until when they stay.
    struct Taken {
        var keys: [ProtectionClass: ClassKey] = [:]
        var terms: [ProtectionClass: CachedKeyTerm] = [:]
        /// Classes of the vault without a cached key.
        var lacking: Set<ProtectionClass> = []
    }

    /// Reads the cached keys, with ids from `keybag`; empty if there are none or there is no kernel keyring.
    /// A key that does not belong to the keybag's public key is not this vault's, and is left alone.
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
            taken.keys[protection] = try ClassKey(
                held.takeKey(), id: wrapped.id, generation: wrapped.generation, vaultID: vaultID)
        }
        return taken
    }

    /// Tracks keys that were read: use here restarts their timeout, and their end there ends them here.
    func share(_ taken: Taken, _ keybag: Keybag) {
        for (protection, term) in taken.terms where protection.isEvictedOnLock {
            guard let publicKey = keybag.publicKeys[protection] else { continue }
            entries.withLock { $0[protection] = Entry(publicKey: publicKey, isRenewable: !term.isExact) }
        }
    }

    /// The cached key of a class, if it belongs to `publicKey`.
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

    /// Restarts the timeout of the class that was used and that of ephemeral tokens, but of no other class.
    func renew(_ protection: ProtectionClass, _ key: ClassKey) {
        guard let inactivity, entries.withLock({ $0[protection]?.isRenewable == true }) else { return }
        let now = clock.bootTime()
        // This comes first, so that an exact time is set after it.
        KernelKeyringStorage.renew(vaultID: vaultID, timeout: inactivity)
        let renewal = try? KernelCachedKey.renew(
            key.key, name: name(protection), timeout: inactivity, boot: clock.bootIdentifier(), now: now)
        guard case .exact(let end) = renewal else { return }
        entries.withLock { $0[protection]?.isRenewable = false }
        guard let end else { return }
        let remaining = Int((end - now).components.seconds)
        KernelKeyringStorage.renew(vaultID: vaultID, timeout: min(max(remaining, 1), inactivity))
    }

    /// The classes whose keys this process stored or read and that are gone, because they expired or another
    /// process removed them; and whether no other is left.
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

    /// Stops tracking classes whose keys are gone.
    func removeEntries(of classes: Set<ProtectionClass>) {
        entries.withLock { entries in entries = entries.filter { !classes.contains($0.key) } }
    }

    /// Removes the keys that a lock evicts, or all; returns whether there were any.
    @discardableResult
    func remove(all: Bool) -> Bool {
        entries.withLock { $0 = [:] }
        return Self.remove(vaultID: vaultID, all: all)
    }

    /// Removes the key of one class, and the marks of unlocks that are about to store it.
    func remove(_ protection: ProtectionClass) {
        removeEntries(of: [protection])
        UnlockMark.removeAll(of: vaultID)
        _ = try? KernelKeyring.remove(name(protection))
    }

    /// Whether the kernel still has a key of a vault.
    static func isAnyLeft(vaultID: VaultID) -> Bool {
        ProtectionClass.allCases.contains { protection in
            (try? KernelKeyring.contains(name(protection, vaultID: vaultID))) == true
        }
    }

    @discardableResult
    static func remove(vaultID: VaultID, all: Bool) -> Bool {
        var hadAny = false
        // The marks are removed first: if an unlock finds its mark afterwards, it stored everything before
        // the next step.
        UnlockMark.removeAll(of: vaultID)
        for protection in ProtectionClass.allCases where all || protection.isEvictedOnLock {
            if (try? KernelKeyring.remove(name(protection, vaultID: vaultID))) == true { hadAny = true }
        }
        KernelKeyringStorage.remove(vaultID: vaultID)
        return hadAny
    }
}

/// How long a key is cached.
struct CachedKeyTerm: Equatable {
    /// Time since boot; `nil` for until a reboot.
    let end: Duration?
    /// Whether use leaves the end unchanged.
    let isExact: Bool
}
