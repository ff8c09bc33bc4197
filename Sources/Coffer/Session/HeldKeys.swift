import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization

/// Class keys lent to the kernel keyring, for the next commands of the same user.
final class HeldKeys: Sendable {
    private let vaultID: VaultID
    private let inactivity: Int?
    /// Keys that were lent in another boot are not taken.
    private let boot: @Sendable () -> String
    /// The timeout to start anew at each use; `nil` while nothing is held with one.
    private let renewal = Mutex<Int?>(nil)
    /// Whether keys that drop on lock were lent or taken here, and have not been taken back.
    private let isLent = Atomic(false)

    init(vaultID: VaultID, inactivity: Int?, boot: @escaping @Sendable () -> String) {
        self.vaultID = vaultID
        self.inactivity = inactivity
        self.boot = boot
    }

    static func name(_ protection: ProtectionClass, vaultID: VaultID) -> String {
        "coffer:\(vaultID):\(protection.name)"
    }

    /// Lends `keys`; classes that drop on lock for exactly `seconds`, or for the inactivity time after each
    /// use. All or, when one is not taken, none.
    func hold(_ keys: [ProtectionClass: ClassKey], seconds: Int?) throws(CofferError) {
        do throws(CofferError) {
            for (protection, key) in keys {
                let timeout = protection.dropsOnLock ? seconds ?? inactivity : nil
                try KernelHeldKey.store(
                    key.key, name: Self.name(protection, vaultID: vaultID), timeout: timeout,
                    isRenewable: seconds == nil, boot: boot())
            }
            try KernelTokenRing.prepare(vaultID: vaultID, timeout: seconds ?? inactivity)
        } catch {
            remove(all: true)
            throw error
        }
        isLent.store(true, ordering: .relaxed)
    }

    /// The keys that are held, with ids from `keybag`; empty where there are none or no kernel keyring.
    func read(_ keybag: Keybag) throws(CofferError) -> [ProtectionClass: ClassKey] {
        var keys: [ProtectionClass: ClassKey] = [:]
        for (protection, wrapped) in keybag.keys {
            let name = Self.name(protection, vaultID: vaultID)
            guard let held = try? KernelHeldKey.read(name: name, boot: boot()) else { continue }
            if protection.dropsOnLock { isLent.store(true, ordering: .relaxed) }
            if protection.dropsOnLock, held.isRenewable { renewal.withLock { $0 = inactivity } }
            keys[protection] = try ClassKey(
                held.takeKey(), id: wrapped.id, generation: wrapped.generation, vaultID: vaultID)
        }
        return keys
    }

    /// Starts the timeouts anew.
    func noteUse() {
        guard let timeout = renewal.withLock({ $0 }) else { return }
        for protection in ProtectionClass.allCases where protection.dropsOnLock {
            try? KernelHeldKey.renew(name: Self.name(protection, vaultID: vaultID), timeout: timeout)
        }
        KernelTokenRing.renew(vaultID: vaultID, timeout: timeout)
    }

    /// Whether keys that drop on lock were lent and are gone: their time is over, or another process took
    /// them back.
    var hasLapsed: Bool {
        guard isLent.load(ordering: .relaxed) else { return false }
        let name = Self.name(.whenUnlockedThisDeviceOnly, vaultID: vaultID)
        do throws(CofferError) {
            let held = try KernelHeldKey.read(name: name, boot: boot())
            switch held {
            case .some: return false
            case .none: return true
            }
        } catch {
            return false
        }
    }

    /// Takes back what was lent: what drops on lock, or all; gives whether there was anything.
    @discardableResult
    func remove(all: Bool) -> Bool {
        renewal.withLock { $0 = nil }
        isLent.store(false, ordering: .relaxed)
        return Self.remove(vaultID: vaultID, all: all)
    }

    /// Takes back the key of one class.
    func remove(_ protection: ProtectionClass) {
        _ = try? KernelKeyring.remove(Self.name(protection, vaultID: vaultID))
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
        for protection in ProtectionClass.allCases where all || protection.dropsOnLock {
            if (try? KernelKeyring.remove(name(protection, vaultID: vaultID))) == true { hadAny = true }
        }
        KernelTokenRing.remove(vaultID: vaultID)
        return hadAny
    }
}
