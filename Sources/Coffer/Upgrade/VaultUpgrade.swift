import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Synchronization

/// The upgrade of a vault that an earlier release wrote.
struct VaultUpgrade {
    private let core: VaultCore
    private let files: FileStore

    /// The maximum age of the backup that an upgrade requires, in nanoseconds.
    private static let maxBackupAge: Int64 = 86_400_000_000_000

    init(_ core: VaultCore, _ files: FileStore) { (self.core, self.files) = (core, files) }

    func run(passcode: Passcode?, requiringBackup: Bool) throws(CofferError) -> [FormatUpgrade] {
        let available = try core.availableUpgrades(core.readKeybag(), in: core.home.openVault())
        guard !available.isEmpty else { return [] }
        if requiringBackup { try requireBackup() }
        let policy = try core.policyForOpening()
        let locks = core.keys.locks
        var steps: [FormatUpgrade] = []
        let all = try core.evaluating(passcode) { (keys, stored, vault) throws(CofferError) in
            try policy.check(currentPasscode: stored.payload.passcode == nil ? nil : passcode)
            // Another process may have upgraded the vault since.
            steps = try core.availableUpgrades(stored.payload, in: vault)
            return try upgrade(steps, keys, stored, with: passcode, in: vault)
        }
        core.checkedKeybag.withLock { $0 = nil }
        // The vault is upgraded, but a lock in the meantime still applies.
        core.keys.insert(all, since: locks)
        return steps
    }

    private func requireBackup() throws(CofferError) {
        let missing = CofferError(
            .refused, "An upgrade needs a backup of this vault that is less than a day old.",
            remedy: .createBackup)
        let last: LastBackupRecord
        do throws(CofferError) {
            last = try core.lastBackup()
        } catch {
            throw error.code == .absent ? missing : error
        }
        // A time in the future says nothing.
        let age = core.clock.wallClock().nanoseconds - last.time
        guard (0...Self.maxBackupAge).contains(age) else { throw missing }
    }

    /// Upgrades the vault, under the vault directory's lock. Returns its class keys.
    private func upgrade(
        _ steps: [FormatUpgrade], _ keys: [ProtectionClass: ClassKey],
        _ stored: AuthenticatedRecord<Keybag>.Contents, with passcode: Passcode?,
        in vault: borrowing Descriptor
    ) throws(CofferError) -> [ProtectionClass: ClassKey] {
        guard !steps.isEmpty else { return keys }
        guard !stored.payload.isRotating else {
            throw CofferError(.busy, "The vault's keys are being replaced. Finish the rotation first.")
        }
        var (all, keybag) = (keys, stored.payload)
        if steps.contains(.keybag) { all = try complete(&keybag, keys, with: passcode) }
        if steps.contains(.keyPairs) { keybag.features.insert(.keyPairs) }
        var next: [VaultDirectory.NextFile] = []
        if steps.contains(where: { $0 != .fileIndex }) {
            let bytes = try Keybag.record.newFile(keybag, after: stored, device: core.device)
            next.append(VaultDirectory.NextFile(Keybag.record.name, bytes))
        }
        if steps.contains(.fileIndex) { next += try files.upgradedIndex(under: all, in: vault) }
        let (isKeybagNew, isIndexNew) = (steps.contains { $0 != .fileIndex }, steps.contains(.fileIndex))
        try core.home.replaceFiles(next, needing: .current) { (next) throws(CofferError) in
            if isKeybagNew {
                let read = try VaultCore.readKeybag(device: core.device, in: next)
                guard read.encoded == keybag.encoded else { throw Self.unexpected }
            }
            if isIndexNew { try files.checkUpgradedIndex(in: next) }
        }
        return all
    }

    /// Adds the class keys that a keybag from an earlier release lacks, under which no item can have been
    /// stored, and the public keys and the tag of all. Returns all class keys.
    private func complete(
        _ keybag: inout Keybag, _ keys: [ProtectionClass: ClassKey], with passcode: Passcode?
    ) throws(CofferError) -> [ProtectionClass: ClassKey] {
        let former = keybag.passcode
        let missing = ProtectionClass.all(hasPasscode: former != nil).filter { keys[$0] == nil }
        let new = try ClassKey.make(for: missing, vaultID: core.device.vaultID)
        let all = keys.merging(new) { old, _ in old }
        // If no passcode is set, ignore the given one.
        try keybag.protect(
            all, with: former == nil ? nil : passcode, cost: former?.cost ?? .standard, device: core.device)
        return all
    }

    private static var unexpected: CofferError {
        CofferError(.internalFailure, "The upgraded keybag cannot be read back. Nothing was changed.")
    }
}
