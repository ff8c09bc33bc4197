public import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

extension Vault {
    /// Returns the assurances that a class provides for this vault on this host. You can call this method
    /// while the vault is locked.
    ///
    /// - Parameters:
    ///   - protection: The protection class.
    ///   - triggers: The lock triggers to which a long-lived program would listen.
    /// - Returns: One assurance for each promise, in the order of `ClassAssurance.Promise.allCases`.
    /// - Throws: `wiped` or `corrupt`.
    public func assurances(
        of protection: ProtectionClass, triggers: LockTriggers = LockTriggers()
    ) async throws(CofferError) -> [ClassAssurance] {
        let statuses = try await lockTriggers(triggers)
        return try await assurances(of: protection, statuses)
    }

    /// Returns every class's assurances, based on trigger statuses that the caller already has.
    ///
    /// - Parameter statuses: The triggers' statuses, which ``lockTriggers(_:)`` returns.
    /// - Returns: The assurances for each class.
    /// - Throws: `wiped` or `corrupt`.
    public func assurances(
        triggers statuses: [LockTriggerStatus]
    ) async throws(CofferError) -> [ProtectionClass: [ClassAssurance]] {
        var all: [ProtectionClass: [ClassAssurance]] = [:]
        for protection in ProtectionClass.allCases {
            all[protection] = try await assurances(of: protection, statuses)
        }
        return all
    }

    /// Returns the assurances for one token; `nil` if no token with this id is stored. You can call this
    /// method while the vault is locked.
    ///
    /// - Throws: `wiped` or `corrupt`, or the storage backend's error.
    public func assurances(for id: TokenID) async throws(CofferError) -> [ClassAssurance]? {
        let tokens = tokens
        let core = core
        let found = try await BlockingExecutor.run { _ throws(CofferError) -> ProtectionClass? in
            guard let envelope = try core.storage.envelope(tokens.name(of: id)) else { return nil }
            return try TokenEnvelope.decode(envelope).protection
        }
        guard let found else { return nil }
        return try await assurances(of: found)
    }

    /// Returns the assurances for one file. You can call this method while the vault is locked.
    ///
    /// - Throws: `absent` if there is no such file; `wiped` or `corrupt`.
    public func assurances(for id: FileID) async throws(CofferError) -> [ClassAssurance] {
        let core = core
        let found = try await BlockingExecutor.run { _ throws(CofferError) in
            let vault = try core.home.openVault()
            let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
            let file = try directory.openContainer(id.fileName, .read)
            let keys = try FileKeysetRecord(device: core.device).read(in: vault).keys
            return try ContainerReader.protection(of: file, device: core.device, keys: keys)
        }
        return try await assurances(of: found)
    }

    private func assurances(
        of protection: ProtectionClass, _ statuses: [LockTriggerStatus]
    ) async throws(CofferError) -> [ClassAssurance] {
        let core = core
        let keybag = try await BlockingExecutor.run { _ throws(CofferError) in try core.readKeybag() }
        let device = try await securityChecks().first { $0.name == "device-key" }
        return [
            Self.passcode(protection, keybag), Self.lock(protection, keybag),
            Self.thisDevice(protection, device, keybag), Self.heard(protection, statuses),
        ]
    }

    private static func passcode(_ protection: ProtectionClass, _ keybag: Keybag) -> ClassAssurance {
        guard keybag.passcode != nil else {
            return ClassAssurance(
                .passcode, .absent,
                protection.requiresPasscode
                    ? "No passcode is set, so nothing can be stored in this class."
                    : "No passcode is set, so the device key alone opens the items in this class.",
                remedy: .setPasscode)
        }
        guard keybag.policy.characters != .digits else {
            return ClassAssurance(
                .passcode, .advisory,
                "Anyone with a copy of the vault can try all passcodes of \(keybag.policy.requirement).",
                remedy: .useLongerPasscode)
        }
        return ClassAssurance(
            .passcode, .cryptographic, "The class key is wrapped under the passcode and the device key.")
    }

    private static func lock(_ protection: ProtectionClass, _ keybag: Keybag) -> ClassAssurance {
        guard protection.isEvictedOnLock else {
            return ClassAssurance(
                .lock, .absent,
                "The class key stays in memory from the first unlock until a reboot, by design.",
                remedy: .useWhenUnlockedClass)
        }
        guard keybag.passcode != nil else {
            return ClassAssurance(
                .lock, .advisory,
                "Locking the vault removes the class key, but no passcode is needed to restore the key.",
                remedy: .setPasscode)
        }
        return ClassAssurance(
            .lock, .cryptographic,
            "Locking the vault removes the class key. Only the passcode restores the key.")
    }

    private static func thisDevice(
        _ protection: ProtectionClass, _ device: SecurityCheck?, _ keybag: Keybag
    ) -> ClassAssurance {
        guard !protection.isExportable else {
            return ClassAssurance(
                .thisDevice, .absent, "Items in this class may be exported, by design.",
                remedy: .useThisDeviceOnlyClass)
        }
        let isHeld = device?.status == .ok
        if isHeld, !protection.requiresPasscode, keybag.recoverySlots?.hasDeviceKey == true {
            return ClassAssurance(
                .thisDevice, .advisory,
                "Whoever has the recovery key and a copy of the vault directory can open the items in this "
                    + "class on another device.")
        }
        return ClassAssurance(
            .thisDevice, isHeld ? .cryptographic : .advisory,
            device?.message ?? "The location of the device key could not be determined.",
            remedy: isHeld ? nil : .encryptDisk)
    }

    private static func heard(_ protection: ProtectionClass, _ statuses: [LockTriggerStatus])
        -> ClassAssurance
    {
        let desktop: [LockTriggerStatus.Source] = [.desktopSession, .screenSaver]
        guard protection.isEvictedOnLock else {
            return ClassAssurance(
                .lockSources, .absent, "Only a reboot, a logout or a wipe removes this class's key.")
        }
        guard statuses.contains(where: { desktop.contains($0.source) && $0.isListening }) else {
            let hasTimer = statuses.contains { $0.source == .idleTimer && $0.isListening }
            return ClassAssurance(
                .lockSources, hasTimer ? .advisory : .absent,
                "No service on this machine reports when the screen locks"
                    + (hasTimer
                        ? ", so only inactivity locks the vault." : ", and no inactivity time is set."),
                remedy: .lockManually)
        }
        return ClassAssurance(
            .lockSources, .advisory,
            "Programs that follow the lock triggers lock the vault when the screen locks. Without such a "
                + "program, keys stay cached in the kernel keyring.", remedy: .watchSession)
    }
}
