public import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

extension Session {
    /// What protects a vault on this host, whatever vault it is.
    ///
    /// - Parameter sessionBus: The bus that the user's Secret Service is on; `nil`: that of the environment.
    /// - Returns: One for each thing that is looked at.
    public static func hostProtections(sessionBus: String? = nil) -> [Protection] {
        [
            swap, viewDirectory, lockedMemory, kernelKeyring, secretService(on: sessionBus),
            documentedSchemes,
        ]
    }

    /// The protections of this vault on this host: the host's and the vault's own. A check that cannot
    /// be made says so and stops none of the others.
    ///
    /// - Throws: `wiped`, `corrupt`: nothing can be said of a vault without its keybag.
    public func protections() async throws(CofferError) -> [Protection] {
        let core = core
        return try await BlockingWork.run { _ throws(CofferError) in
            let keybag = try core.readKeybag()
            let backend = try core.keyring.backend()
            let bus = core.home.service.address
            return [Self.passcode(keybag), Self.deviceKey(backend, on: bus)]
                + Self.checked("attempts") { () throws(CofferError) in
                    if keybag.passcode != nil { _ = try core.readAttempts() }
                    return [Self.attempts(keybag, backend)]
                }
                + Self.checked("tokens") { () throws(CofferError) in
                    _ = try core.keyring.count()
                    return []
                }
                + Self.checked("this-device") { () throws(CofferError) in [try Self.host(keybag)] }
                + Self.checked("disk") { () throws(CofferError) in
                    [try Self.disk(StoragePlace.of(core.home.openVault()))]
                }
                + core.storeProtections() + Self.hostProtections(sessionBus: bus)
        }
    }

    /// The findings of a check, or why it could not be made.
    static func checked(
        _ name: String, _ check: () throws(CofferError) -> [Protection]
    ) -> [Protection] {
        do throws(CofferError) {
            return try check()
        } catch {
            return [.failed(name, error)]
        }
    }

    /// Only where there are any.
    fileprivate static func unfinished(_ remains: FileRemains) -> [Protection] {
        guard remains.count > 0 else { return [] }
        let left =
            remains.count == 1
            ? "1 interrupted addition or removal of a file"
            : "\(remains.count) interrupted additions or removals of files"
        return [
            Protection(
                "unfinished-files", .advisory,
                "\(left) left \(remains.bytes) sealed bytes in the home. The next command that lists or "
                    + "changes files removes them: coffer file list")
        ]
    }

    /// Only where there are any.
    fileprivate static func others(_ remains: FileRemains) -> [Protection] {
        guard let first = remains.others.first else { return [] }
        let more = remains.others.count > 1 ? " and \(remains.others.count - 1) more" : ""
        return [
            Protection(
                "foreign-entries", .advisory,
                "vault/files/\(first)\(more) in the home is no file that Coffer made: somebody put it there. "
                    + "Coffer passes it over. Look at it and remove it.")
        ]
    }

    /// Only where there are any.
    fileprivate static func damagedTokens(_ count: Int) -> [Protection] {
        guard count > 0 else { return [] }
        return [
            Protection(
                "damaged-tokens", .missing,
                (count == 1
                    ? "1 token that was stored while locked is damaged, and nobody can read it any more. "
                    : "\(count) tokens that were stored while locked are damaged, and nobody can read them "
                        + "any more. ")
                    + "Store again what is missing, then remove what is left: coffer token discard-damaged")
        ]
    }

    private static func passcode(_ keybag: Keybag) -> Protection {
        guard let parameters = keybag.passcode else {
            return Protection(
                "passcode", .missing,
                "No passcode is set: whoever can read the home can open it. Set one with: coffer passcode set"
            )
        }
        let cost =
            "Argon2id with \(parameters.cost.memoryKiB / 1024) MiB and \(parameters.cost.passes) passes"
        guard keybag.policy.characters != .digits else {
            return Protection(
                "passcode", .advisory,
                "A passcode of 4 to 8 digits under \(cost): with a copy of the home, all of them can be "
                    + "tried. "
                    + "Use a longer passcode.")
        }
        return Protection(
            "passcode", .ok, "A passcode under \(cost). Its length decides how long guessing takes.")
    }

    private static func attempts(_ keybag: Keybag, _ backend: KeyringBackend) -> Protection {
        guard keybag.passcode != nil else {
            return Protection("attempts", .missing, "Without a passcode there is nothing to count.")
        }
        guard backend == .file else {
            return Protection(
                "attempts", .ok,
                "The tenth wrong passcode erases the vault. An older copy of the home is refused: the "
                    + "Secret Service remembers the counter. Who copies both guesses without end.")
        }
        return Protection(
            "attempts", .advisory,
            "The tenth wrong passcode erases the vault. Who copies the home first can guess on the copy "
                + "without end."
        )
    }

    /// Only where something is wrong with it: most vaults take no orders.
    fileprivate static func orders(_ damage: CofferError?) -> [Protection] {
        guard let damage else { return [] }
        return [
            Protection(
                "orders", .missing,
                "The record of orders cannot be read: no signed order is taken and the dead-man's switch is "
                    + "off. \(damage.message) Put back a copy of the vault's file orders, or remove it and "
                    + "pin the keys again.")
        ]
    }

    /// Only where there are any: each opening tries to finish them.
    fileprivate static func unfinishedOrders(_ count: Int) -> [Protection] {
        guard count > 0 else { return [] }
        return [
            Protection(
                "unfinished-orders", .missing,
                (count == 1 ? "A signed order to erase was" : "\(count) signed orders to erase were")
                    + " taken and cannot be finished: every command tries again. To see what is still there, "
                    + "erase it yourself: coffer wipe --yes --user NAME, or --tokens")
        ]
    }

    private static func host(_ keybag: Keybag) throws(CofferError) -> Protection {
        let now = try HostBinding.current()
        if keybag.hostBinding == HostBinding.unknown || now == HostBinding.unknown {
            return Protection(
                "this-device", .advisory, "This machine has no machine-id(5) to recognise it by.")
        }
        guard keybag.hostBinding == now else {
            return Protection(
                "this-device", .advisory,
                "The vault was made on another machine, or the machine's identity changed.")
        }
        return Protection(
            "this-device", .advisory, "The vault is on the machine and of the user that made it.")
    }

    private static func disk(_ place: StoragePlace) -> Protection {
        let name = place.type.isEmpty ? "" : " (\(place.type))"
        switch place.medium {
        case .network:
            return Protection("disk", .advisory, "The vault is on a network file system\(name).")
        case .removable:
            return Protection("disk", .advisory, "The vault is on a medium that can be pulled out\(name).")
        case .memory:
            return Protection("disk", .advisory, "The vault is in memory\(name): it goes with a reboot.")
        case .fixed, .unknown: break
        }
        switch place.isEncrypted {
        case true?: return Protection("disk", .ok, "What is below the vault encrypts, too\(name).")
        case false?:
            return Protection(
                "disk", .advisory,
                "The disk below the vault is not encrypted\(name): the device key can be read from it. "
                    + "Encrypt it with dm-crypt or fscrypt.")
        case nil:
            return Protection(
                "disk", .advisory, "Whether the disk below the vault is encrypted is not known\(name).")
        }
    }

    /// Not of this vault, which does not use them, but of what is encrypted under them elsewhere.
    private static var documentedSchemes: Protection {
        Protection(
            "documented-schemes", .advisory,
            "Keys of the documented schemes (coffer key, coffer crypt) cost one SHA-256 for each passcode "
                + "that is tried: all of 4 to 8 digits take seconds. They are as secret as their UUID. Use "
                + "them for data that has them already.")
    }

    private static var swap: Protection {
        guard FileSystemInfo.isSwapActive() else {
            let source = KernelText.read("/proc/swaps") == nil ? " by sysinfo(2), without /proc" : ""
            return Protection("swap", .ok, "No swap is active\(source).")
        }
        return Protection(
            "swap", .advisory,
            "Swap is active: view copies and file contents in memory may be written to it. Encrypt it "
                + "or use zram."
        )
    }

    private static var viewDirectory: Protection {
        if ViewRoots.hasRuntimeDirectory {
            return Protection(
                "view-copies", .ok, "View copies lie in the user's runtime directory, in memory.")
        }
        guard ViewRoots.hasSharedMemory else {
            return Protection(
                "view-copies", .missing, "There is no directory in memory: files cannot be viewed.")
        }
        return Protection(
            "view-copies", .ok, "View copies lie in a private directory under /dev/shm, in memory.")
    }

    private static var lockedMemory: Protection {
        let needed = 1 << 20
        guard let limit = ResourceLimits.lockableMemory, limit < needed else {
            return Protection("locked-memory", .ok, "Keys and tokens are locked in memory.")
        }
        return Protection(
            "locked-memory", .advisory,
            "Only \(limit) bytes may be locked in memory: keys may be written to swap. Raise the limit "
                + "(ulimit -l)."
        )
    }

    private static var kernelKeyring: Protection {
        guard KernelKeyring.isAvailable else {
            return Protection(
                "kernel-keyring", .missing,
                "The kernel keyring is missing or forbidden here: every command asks for the passcode.")
        }
        return Protection("kernel-keyring", .ok, "Unlocking lasts for later commands, in the kernel keyring.")
    }
}

extension SessionCore {
    /// What is wrong with the files, the tokens that came while locked, and the orders.
    fileprivate func storeProtections() -> [Protection] {
        let files = FileStore(core: self)
        return Session.checked("unfinished-files") { () throws(CofferError) in
            let remains = try files.remains()
            return Session.unfinished(remains) + Session.others(remains)
        }
            + Session.checked("files") { () throws(CofferError) in try files.condition().protections }
            + Session.checked("damaged-tokens") { () throws(CofferError) in
                Session.damagedTokens(try inbox.damaged(among: inbox.entries()))
            }
            + Session.checked("orders") { () throws(CofferError) in
                let pending = (try? readOrderBook())?.pending.count ?? 0
                return Session.orders(try orderRecordDamage()) + Session.unfinishedOrders(pending)
            }
    }
}
