import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization

/// Class keys held in the kernel keyring, for the next commands of the same user.
///
/// Every process of this user can put a key there, too: one is taken only if it is the class's own, by the
/// public key in the keybag.
final class KernelKeyCache: Sendable {
    /// A class whose key this process stored or took there, and has not taken back.
    private struct Entry {
        let publicKey: [UInt8]
        /// Whether using it starts its timeout again, as far as is known here; the key itself decides.
        var isRenewable: Bool
    }

    private let vaultID: VaultID
    private let inactivity: Int?
    /// Keys of another boot are not taken.
    private let time: VaultClock
    /// Of the classes that drop on lock.
    private let entries = Mutex<[ProtectionClass: Entry]>([:])

    init(vaultID: VaultID, inactivity: Int?, time: VaultClock) {
        self.vaultID = vaultID
        self.inactivity = inactivity
        self.time = time
    }

    /// The size of what the names of a vault's keys begin with: `coffer:` and the vault's id.
    static let prefixSize = 7 + 36

    static func name(_ protection: ProtectionClass, vaultID: VaultID) -> String {
        "coffer:\(vaultID):\(protection.name)"
    }

    private func name(_ protection: ProtectionClass) -> String {
        Self.name(protection, vaultID: vaultID)
    }

    /// Stores `keys`; classes that drop on lock for exactly `seconds`, or for the inactivity time after each
    /// use. All or, when one is not taken, none.
    func store(_ keys: [ProtectionClass: ClassKey], seconds: Int?) throws(CofferError) {
        do throws(CofferError) {
            for (protection, key) in keys {
                let publicKey = try key.publicKey(vaultID: vaultID)
                let timeout = protection.isEvictedOnLock ? seconds ?? inactivity : nil
                try KernelCachedKey.store(
                    key.key, name: name(protection), timeout: timeout, isRenewable: seconds == nil,
                    boot: time.bootIdentifier(), now: time.bootTime())
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

    /// The keys held of a vault, and until when.
    struct Taken {
        var keys: [ProtectionClass: ClassKey] = [:]
        var terms: [ProtectionClass: HeldTerm] = [:]
        /// Classes of the vault of which no key is held.
        var lacking: Set<ProtectionClass> = []
    }

    /// The keys that are held, with ids from `keybag`; empty where there are none or no kernel keyring. One
    /// that does not belong to the keybag's public key is somebody else's and stays where it is.
    func read(_ keybag: Keybag) throws(CofferError) -> Taken {
        var taken = Taken()
        for (protection, wrapped) in keybag.keys {
            // Where there is no keyring, or no public key in an earlier release's keybag, nothing is held.
            guard let publicKey = keybag.publicKeys[protection],
                let held = try? own(protection, publicKey)
            else {
                taken.lacking.insert(protection)
                continue
            }
            taken.terms[protection] = HeldTerm(end: held.end, isExact: !held.isRenewable)
            taken.keys[protection] = try ClassKey(
                held.takeKey(), id: wrapped.id, generation: wrapped.generation, vaultID: vaultID)
        }
        return taken
    }

    /// Takes part in what was taken: uses here count, and its end ends what is here.
    func share(_ taken: Taken, _ keybag: Keybag) {
        for (protection, term) in taken.terms where protection.isEvictedOnLock {
            guard let publicKey = keybag.publicKeys[protection] else { continue }
            entries.withLock { $0[protection] = Entry(publicKey: publicKey, isRenewable: !term.isExact) }
        }
    }

    /// The held key of a class, if it is the one that belongs to `publicKey`.
    private func own(
        _ protection: ProtectionClass, _ publicKey: [UInt8]
    ) throws(CofferError) -> KernelCachedKey? {
        let held = try KernelCachedKey.read(
            name: name(protection), boot: time.bootIdentifier(), now: time.bootTime())
        guard let held, try ClassKey.publicKey(of: held.key, vaultID: vaultID) == publicKey else {
            return nil
        }
        return held
    }

    /// Starts the timeout of the class that was used again, and that of volatile tokens; of no other class.
    func renew(_ protection: ProtectionClass, _ key: ClassKey) {
        guard let inactivity, entries.withLock({ $0[protection]?.isRenewable == true }) else { return }
        let now = time.bootTime()
        // First, so that what an exact time sets comes after it.
        KernelKeyringStorage.renew(vaultID: vaultID, timeout: inactivity)
        let renewal = try? KernelCachedKey.renew(
            key.key, name: name(protection), timeout: inactivity, boot: time.bootIdentifier(), now: now)
        guard case .exact(let end) = renewal else { return }
        entries.withLock { $0[protection]?.isRenewable = false }
        guard let end else { return }
        let left = Int((end - now).components.seconds)
        KernelKeyringStorage.renew(vaultID: vaultID, timeout: min(max(left, 1), inactivity))
    }

    /// The classes whose keys this process stored or took and that are gone: their time is over, or another
    /// process took them back. And whether no other is left.
    var expired: (classes: Set<ProtectionClass>, isEverything: Bool) {
        let entries = entries.withLock { $0 }
        var gone: Set<ProtectionClass> = []
        for (protection, entry) in entries {
            // A key that cannot be looked at may be there.
            let held = try? own(protection, entry.publicKey) == nil
            if held == true { gone.insert(protection) }
        }
        return (gone, gone.count == entries.count)
    }

    /// Stops looking after classes that are gone.
    func forget(_ classes: Set<ProtectionClass>) {
        entries.withLock { entries in entries = entries.filter { !classes.contains($0.key) } }
    }

    /// Takes the keys back: what drops on lock, or all; tells whether there was anything.
    @discardableResult
    func remove(all: Bool) -> Bool {
        entries.withLock { $0 = [:] }
        return Self.remove(vaultID: vaultID, all: all)
    }

    /// Takes back the key of one class, also from who is about to store it.
    func remove(_ protection: ProtectionClass) {
        forget([protection])
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
        // First: an unlock that finds its mark afterwards has stored everything before what follows.
        UnlockMark.removeAll(of: vaultID)
        for protection in ProtectionClass.allCases where all || protection.isEvictedOnLock {
            if (try? KernelKeyring.remove(name(protection, vaultID: vaultID))) == true { hadAny = true }
        }
        KernelKeyringStorage.remove(vaultID: vaultID)
        return hadAny
    }
}

/// How long a key is held.
struct HeldTerm: Equatable {
    /// Since boot; `nil`: until a reboot.
    let end: Duration?
    /// Whether use leaves the end where it is.
    let isExact: Bool
}
