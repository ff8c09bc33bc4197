public import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import SystemPackage

extension Vault {
    /// Checks the protection that this host offers any vault.
    ///
    /// - Parameter sessionBus: The address of the session bus with the user's Secret Service; `nil` for the
    ///   bus that the environment specifies.
    /// - Returns: One result for each check.
    public static func hostSecurityChecks(sessionBus: String? = nil) -> [SecurityCheck] {
        [
            swap, viewDirectory, lockedMemory, kernelKeyring, secretService(on: sessionBus),
            documentedSchemes,
        ]
    }

    /// Checks how this vault is protected on this host. The method runs both the host's checks and the
    /// vault's own checks. A check that cannot be performed is reported as such and does not stop the others.
    ///
    /// - Returns: The results of all checks.
    /// - Throws: `wiped`; `corrupt` if the keybag is damaged, because a vault cannot be checked without its
    ///   keybag.
    public func securityChecks() async throws(CofferError) -> [SecurityCheck] {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            let keybag = try core.readKeybag()
            let backend = try core.activeStorage.backend()
            let bus = core.home.service.address
            return [Self.passcode(keybag), Self.deviceKey(backend, on: bus)]
                + Self.checked("attempts") { () throws(CofferError) in
                    if keybag.passcode != nil { _ = try core.readAttempts() }
                    return [Self.attempts(keybag, backend)]
                }
                + core.recoveryKeyChecks(keybag) + core.backupChecks() + core.anchorChecks()
                + core.policyChecks() + core.keyPairChecks() + core.upgradeChecks(keybag)
                + Self.checked("tokens") { () throws(CofferError) in
                    _ = try core.storage.count()
                    return []
                }
                + Self.checked("this-device") { () throws(CofferError) in [try Self.host(keybag)] }
                + Self.checked("disk") { () throws(CofferError) in
                    let storage = try StorageMedium.of(core.home.openVault())
                    return [Self.disk(storage, isEncryptionRequired: try core.requiresDiskEncryption())]
                }
                + core.storeSecurityChecks() + Self.hostSecurityChecks(sessionBus: bus)
        }
    }

    /// Returns a check's results, or a result that explains why the check failed.
    static func checked(
        _ name: String, _ check: () throws(CofferError) -> [SecurityCheck]
    ) -> [SecurityCheck] {
        do throws(CofferError) {
            return try check()
        } catch {
            return [.failed(name, error)]
        }
    }

    /// Reports interrupted file additions and removals; empty if there are none.
    fileprivate static func unfinished(_ remains: FileRemains) -> [SecurityCheck] {
        guard remains.count > 0 else { return [] }
        let operations =
            remains.count == 1
            ? "1 interrupted file addition or removal"
            : "\(remains.count) interrupted file additions or removals"
        return [
            SecurityCheck(
                "unfinished-files", .advisory,
                "\(operations) left \(remains.bytes) sealed bytes in the vault. The next command that lists "
                    + "or changes files removes these bytes.", remedy: .removeUnfinishedFiles)
        ]
    }

    /// Reports entries that other programs put among the files; empty if there are none.
    fileprivate static func others(_ remains: FileRemains) -> [SecurityCheck] {
        guard let first = remains.others.first else { return [] }
        let more = remains.others.count > 1 ? " and \(remains.others.count - 1) more" : ""
        return [
            SecurityCheck(
                "foreign-entries", .advisory,
                "Another program created vault/files/\(first)\(more). Coffer ignores such entries. Inspect "
                    + "the entries, then remove them.")
        ]
    }

    /// Reports damaged pending tokens; empty if there are none.
    fileprivate static func corruptTokens(_ count: Int) -> [SecurityCheck] {
        guard count > 0 else { return [] }
        return [
            SecurityCheck(
                "damaged-tokens", .missing,
                (count == 1
                    ? "1 token that was stored while the vault was locked is damaged and can no longer be "
                        + "read."
                    : "\(count) tokens that were stored while the vault was locked are damaged and can no "
                        + "longer be read."),
                remedy: .replaceDamagedTokens)
        ]
    }

    private static func passcode(_ keybag: Keybag) -> SecurityCheck {
        guard let parameters = keybag.passcode else {
            return SecurityCheck(
                "passcode", .missing,
                "No passcode is set, so anyone who can read the vault directory can open the vault.",
                remedy: .setPasscode)
        }
        let cost =
            "Argon2id with \(parameters.cost.memoryKiB / 1024) MiB and \(parameters.cost.passes) passes"
        guard keybag.policy.characters != .digits else {
            return SecurityCheck(
                "passcode", .advisory,
                "The passcode is protected by \(cost), but the policy requires only "
                    + "\(keybag.policy.requirement). Anyone with a copy of the vault can try all such "
                    + "passcodes.",
                remedy: .useLongerPasscode)
        }
        return SecurityCheck(
            "passcode", .ok,
            "The passcode is protected by \(cost). The length of the passcode determines how long guessing "
                + "takes.")
    }

    private static func attempts(_ keybag: Keybag, _ backend: KeyringBackend) -> SecurityCheck {
        guard keybag.passcode != nil else {
            return SecurityCheck(
                "attempts", .missing, "No passcode is set, so there are no attempts to count.")
        }
        guard keybag.erasesAfterTenFailures else {
            let limit =
                keybag.delaysAttempts
                ? "only delays of up to an hour limit guessing on this machine"
                : "nothing but the cost of the derivation limits guessing on this machine"
            return SecurityCheck(
                "attempts", .advisory,
                "Wrong passcodes never erase the vault, and \(limit). An attacker who copies the vault can "
                    + "guess on the copy without limit. Choose a passcode that is hard to guess.")
        }
        guard backend == .file else {
            return SecurityCheck(
                "attempts", .ok,
                "The tenth wrong passcode erases the vault. An older copy of the vault is rejected because "
                    + "the Secret Service stores the attempt counter. An attacker who copies the vault and "
                    + "the desktop keyring can guess without limit.")
        }
        return SecurityCheck(
            "attempts", .advisory,
            "The tenth wrong passcode erases the vault. An attacker who copies the vault beforehand can "
                + "guess on the copy without limit."
        )
    }

    /// Reports damage to the command record; empty if the record is intact or does not exist.
    fileprivate static func orders(_ damage: CofferError?) -> [SecurityCheck] {
        guard let damage else { return [] }
        // Removing the record also removes the counters of seen commands, so only damage justifies that.
        let remedy: CofferError.Remedy? =
            switch damage.code {
            case .corrupt: .restoreOrRemoveOrders
            case .unsupportedVersion: .useNewerRelease
            case .foreign: .restoreVault
            default: nil
            }
        return [
            SecurityCheck(
                "orders", .missing,
                "The record of signed commands cannot be read, so no signed command is accepted and the "
                    + "dead-man's switch is off. \(damage.message)", remedy: remedy)
        ]
    }

    /// Reports unfinished commands, which Coffer tries to finish each time the vault is opened; empty if
    /// there are none.
    fileprivate static func unfinishedOrders(_ count: Int) -> [SecurityCheck] {
        guard count > 0 else { return [] }
        return [
            SecurityCheck(
                "unfinished-orders", .missing,
                (count == 1 ? "A signed command to erase was" : "\(count) signed commands to erase were")
                    + " accepted but not finished. Coffer tries again each time the vault is opened.",
                remedy: .wipeAgain)
        ]
    }

    private static func host(_ keybag: Keybag) throws(CofferError) -> SecurityCheck {
        let now = try MachineFingerprint.current()
        if keybag.hostBinding == MachineFingerprint.unknown || now == MachineFingerprint.unknown {
            return SecurityCheck(
                "this-device", .advisory,
                "This machine has no unique machine ID. See machine-id(5).")
        }
        guard keybag.hostBinding == now else {
            return SecurityCheck(
                "this-device", .advisory,
                "The vault was created on another machine, or the machine's identity changed.")
        }
        return SecurityCheck(
            "this-device", .advisory, "The vault is on the machine where this user created it.")
    }

    /// Reports the medium, and whether it meets the vault's requirement for disk encryption, if there is one.
    static func disk(_ storage: StorageMedium, isEncryptionRequired: Bool) -> SecurityCheck {
        let found = disk(storage)
        guard isEncryptionRequired else { return found }
        guard storage.isEncrypted == true else {
            return SecurityCheck(
                "disk", .missing,
                "\(found.message) The vault's settings require disk encryption, so no files can be added.",
                remedy: .encryptDisk)
        }
        return SecurityCheck(
            "disk", found.status,
            "\(found.message) The vault's settings require disk encryption, which is active.")
    }

    private static func disk(_ storage: StorageMedium) -> SecurityCheck {
        let name = storage.type.isEmpty ? "" : " (\(storage.type))"
        switch storage.medium {
        case .network:
            return SecurityCheck("disk", .advisory, "The vault is on a network file system\(name).")
        case .removable:
            return SecurityCheck("disk", .advisory, "The vault is on a removable medium\(name).")
        case .memory:
            return SecurityCheck(
                "disk", .advisory,
                "The vault is in memory\(name), so a reboot erases the vault.")
        case .fixed, .unknown: break
        }
        switch storage.isEncrypted {
        case true?: return SecurityCheck("disk", .ok, "The disk that holds the vault is encrypted\(name).")
        case false?:
            return SecurityCheck(
                "disk", .advisory,
                "The disk that holds the vault is not encrypted\(name), so the device key can be read from "
                    + "the disk. Encrypt the disk with dm-crypt or fscrypt.")
        case nil:
            return SecurityCheck(
                "disk", .advisory,
                "The encryption status of the disk that holds the vault could not be determined\(name).")
        }
    }

    /// A warning about data that is encrypted under the documented schemes elsewhere; the vault's own data
    /// does not use these schemes.
    private static var documentedSchemes: SecurityCheck {
        SecurityCheck(
            "documented-schemes", .advisory,
            "With the documented schemes, each passcode guess costs one SHA-256 computation, so trying all "
                + "passcodes of 4 to 8 digits takes seconds. A key is therefore only as secret as its UUID.",
            remedy: .limitDocumentedSchemes)
    }

    private static var swap: SecurityCheck {
        guard FileSystemInfo.isSwapActive() else {
            let source = ProcFile.read("/proc/swaps") == nil ? " by sysinfo(2), without /proc" : ""
            return SecurityCheck("swap", .ok, "No swap is active\(source).")
        }
        return SecurityCheck(
            "swap", .advisory,
            "Swap is active, so view copies and file contents in memory may be written to swap. Encrypt the "
                + "swap space or use zram."
        )
    }

    private static var viewDirectory: SecurityCheck {
        if ViewCopyDirectory.hasRuntimeDirectory {
            return SecurityCheck(
                "view-copies", .ok, "View copies are in the user's runtime directory, in memory.")
        }
        guard ViewCopyDirectory.hasSharedMemory else {
            return SecurityCheck(
                "view-copies", .missing, "No in-memory file system is available, so files cannot be viewed.")
        }
        return SecurityCheck(
            "view-copies", .ok, "View copies are in a private directory under /dev/shm, in memory.")
    }

    private static var lockedMemory: SecurityCheck {
        let needed = 1 << 20
        guard let limit = ResourceLimits.lockableMemory, limit < needed else {
            return SecurityCheck("locked-memory", .ok, "Keys and tokens are locked in memory.")
        }
        return SecurityCheck(
            "locked-memory", .advisory,
            "Only \(limit) bytes may be locked in memory, so keys may be written to swap. Raise the limit "
                + "(ulimit -l)."
        )
    }

    private static var kernelKeyring: SecurityCheck {
        guard KernelKeyring.isAvailable else {
            return SecurityCheck(
                "kernel-keyring", .missing,
                "The kernel keyring is not available, so every command asks for the passcode.")
        }
        return SecurityCheck(
            "kernel-keyring", .ok, "The kernel keyring keeps the vault unlocked for later commands.")
    }
}

extension VaultCore {
    /// Reports problems with the files, the tokens stored while locked, and the signed commands.
    fileprivate func storeSecurityChecks() -> [SecurityCheck] {
        let files = FileStore(core: self)
        return Vault.checked("unfinished-files") { () throws(CofferError) in
            let remains = try files.remains()
            return Vault.unfinished(remains) + Vault.others(remains)
        }
            + Vault.checked("files") { () throws(CofferError) in try files.condition().protections }
            + Vault.checked("damaged-tokens") { () throws(CofferError) in
                Vault.corruptTokens(try pendingTokens.damaged(among: pendingTokens.entries()))
            }
            + Vault.checked("orders") { () throws(CofferError) in
                let pending = (try? readRemoteCommandRecord())?.pending.count ?? 0
                return Vault.orders(try orderRecordDamage()) + Vault.unfinishedOrders(pending)
            }
    }
}
