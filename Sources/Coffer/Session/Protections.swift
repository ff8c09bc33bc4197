public import CofferBase
import CofferCrypto
import CofferEngine

extension Session {
    /// What protects a vault on this host, whatever vault it is.
    public static func hostProtections() -> [Protection] {
        [swap, viewDirectory, lockedMemory, kernelKeyring, secretService]
    }

    /// What protects this vault on this host: the host's protections and the vault's own.
    ///
    /// - Throws: `wiped`, `corrupt`.
    public func protections() async throws(CofferError) -> [Protection] {
        let core = core
        let keybag = try await BlockingWork.run { _ throws(CofferError) in try core.readKeybag() }
        return [Self.passcode(keybag), Self.deviceKey, Self.attempts(keybag), try Self.host(keybag)]
            + Self.hostProtections()
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
        guard keybag.policy != .digits else {
            return Protection(
                "passcode", .advisory,
                "A passcode of 4 to 8 digits under \(cost): with a copy of the home, all of them can be "
                    + "tried. "
                    + "Use a longer passcode.")
        }
        return Protection(
            "passcode", .ok, "A passcode under \(cost). Its length decides how long guessing takes.")
    }

    private static var deviceKey: Protection {
        Protection(
            "device-key", .advisory,
            "The device key is a file of mode 0600 in the home: a copy of the home has it, too. Keep "
                + "the home on an "
                + "encrypted disk and out of backups that others can read.")
    }

    private static func attempts(_ keybag: Keybag) -> Protection {
        guard keybag.passcode != nil else {
            return Protection("attempts", .missing, "Without a passcode there is nothing to count.")
        }
        return Protection(
            "attempts", .advisory,
            "The tenth wrong passcode erases the vault. Who copies the home first can guess on the copy "
                + "without end."
        )
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

    private static var swap: Protection {
        guard FileSystemInfo.isSwapActive() else { return Protection("swap", .ok, "No swap is active.") }
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

    /// Told, not used: this release keeps keys in the embedded keyring.
    private static var secretService: Protection {
        #if SecretService
            let found =
                switch SecretServiceProbe.ask() {
                case .running: "A Secret Service answers on the session bus"
                case .absent: "The session bus has no Secret Service"
                case .noBus: "There is no session bus"
                case .timedOut: "The session bus did not answer in time"
                }
        #else
            let found = "This build does not speak to the Secret Service"
        #endif
        return Protection(
            "secret-service", .missing, found + "; this release keeps keys in the embedded keyring alone.")
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
