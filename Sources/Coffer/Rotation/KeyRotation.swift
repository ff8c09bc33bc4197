import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Synchronization

/// A rotation of a vault's class keys. The keybag's two generations are its journal: every step can be
/// repeated, and until the last one, the keybag has the replaced keys.
struct KeyRotation {
    private let core: VaultCore
    private let files: FileStore

    init(_ core: VaultCore, _ files: FileStore) { (self.core, self.files) = (core, files) }

    // MARK: The new generation

    /// Creates the new keys and makes them the vault's. From then on, nothing is sealed under the old ones.
    func begin(
        _ classes: [ProtectionClass]?, passcode: Passcode?, newPasscode: Passcode?
    ) throws(CofferError) {
        let policy = try core.policyForOpening()
        let locks = core.keys.locks
        var refusal: CofferError?
        let all = try core.evaluating(passcode) { (old, stored, vault) throws(CofferError) in
            do throws(CofferError) {
                try check(stored.payload, newPasscode, in: vault)
                let used = newPasscode ?? passcode
                try policy.check(currentPasscode: stored.payload.passcode == nil ? nil : used)
            } catch {
                refusal = error
                return old
            }
            // Another process began a rotation in the meantime.
            guard !stored.payload.isRotating else {
                refusal = CofferError(
                    .busy, "Another process is replacing this vault's keys. Try again when it has finished.")
                return old
            }
            return try replace(old, classes, stored, in: vault, with: newPasscode ?? passcode)
        }
        if let refusal { throw refusal }
        // A lock in the meantime still applies; the next unlock goes on.
        core.checkedKeybag.withLock { $0 = nil }
        guard core.keys.insert(all, since: locks) else {
            throw core.keys.isWiped ? CofferError.wiped : CofferError.lockedMeanwhile
        }
    }

    /// Throws an error if the rotation may not begin.
    private func check(
        _ keybag: Keybag, _ newPasscode: Passcode?, in vault: borrowing Descriptor
    ) throws(CofferError) {
        if let newPasscode {
            guard keybag.passcode != nil else {
                throw CofferError(.refused, "No passcode is set, so it cannot be replaced.")
            }
            try keybag.policy.check(newPasscode)
        }
        try keybag.requireComplete(for: "a rotation")
        // An entry that this release cannot seal again would be lost with the old key.
        for entry in try core.pendingTokens.entries() where entry.state != .damaged {
            let isNewer = try core.pendingTokens.read(entry, in: vault) == nil
            let isStillThere = try core.pendingTokens.entries().contains {
                $0.number == entry.number && $0.state != .damaged
            }
            guard isNewer, isStillThere else { continue }
            throw CofferError(
                .unsupportedVersion,
                "A pending token was stored by a newer release. Accept it with that release first.")
        }
    }

    private func replace(
        _ old: [ProtectionClass: ClassKey], _ classes: [ProtectionClass]?,
        _ stored: AuthenticatedRecord<Keybag>.Contents, in vault: borrowing Descriptor,
        with passcode: Passcode?
    ) throws(CofferError) -> [ProtectionClass: ClassKey] {
        let vaultID = core.device.vaultID
        var successors: [ProtectionClass: ClassKey] = [:]
        for (protection, key) in old where classes?.contains(protection) ?? true {
            successors[protection] = try key.successor(vaultID: vaultID)
        }
        let all = old.merging(successors) { $1 }
        // First in memory, so that no other thread of this process finds its keys replaced. The successors
        // open what the old keys open, and nothing is stored while this thread has the vault's lock.
        let locks = core.keys.locks
        let held = core.keys.all.filter { successors[$0.key] != nil }
        core.keys.insert(successors.filter { held[$0.key] != nil }, since: locks)
        do throws(CofferError) {
            try write(successors, all, stored, in: vault, with: passcode)
        } catch {
            core.keys.insert(held, since: locks)
            throw error
        }
        core.cachedKeys.replace(with: successors)
        return all
    }

    private func write(
        _ successors: [ProtectionClass: ClassKey], _ all: [ProtectionClass: ClassKey],
        _ stored: AuthenticatedRecord<Keybag>.Contents, in vault: borrowing Descriptor,
        with passcode: Passcode?
    ) throws(CofferError) {
        let vaultID = core.device.vaultID
        try core.updateKeybag(stored, in: vault) { (keybag) throws(CofferError) in
            // Without a passcode in the vault, ignore the given one.
            let cost = keybag.passcode?.cost
            try keybag.protect(
                all, with: cost == nil ? nil : passcode, cost: cost ?? .standard, device: core.device)
            try keybag.keepFormer(of: successors, vaultID: vaultID)
        }
    }

    // MARK: The items

    /// Rewraps every item that the replaced keys protect and then destroys those keys. Returns a report;
    /// `nil` if no rotation is in progress.
    func finish(
        check: @Sendable () throws(CofferError) -> Void, progress: (@Sendable (BatchProgress) -> Void)?
    ) throws(CofferError) -> RotationReport? {
        let keybag = try core.readKeybag()
        guard keybag.isRotating else { return nil }
        try core.refreshKeys()
        var report = RotationReport()
        report.classes = keybag.former.keys.sorted { $0.rawValue < $1.rawValue }
        try requireKeys(of: keybag)
        try core.rewrapEphemeralTokens()
        try rewrapTokens(&report, check)
        report.keyPairs += try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try RewrappedKeyPairs(core).rewrap(in: vault).changed
        }
        files.volatileKeys.endSharedSessions(of: Set(report.classes))
        let result = try files.replaceKeys(check: check, progress: progress)
        report.files = result.rewrapped
        report.unreadableFiles = result.unreadable
        try end(&report)
        if report.isComplete { try core.dropFormerKeys() }
        return report
    }

    private func requireKeys(of keybag: Keybag) throws(CofferError) {
        for (protection, former) in keybag.former {
            let key = try core.keys.key(protection)
            guard key.id == keybag.keys[protection]?.id, key.former?.id == former.id else {
                throw CofferError.locked
            }
        }
    }

    /// Rewraps the keys of stored tokens, all of them in one change where the storage makes a change in one
    /// step, and otherwise in small groups between which other processes get their turn.
    private func rewrapTokens(
        _ report: inout RotationReport, _ check: @Sendable () throws(CofferError) -> Void
    ) throws(CofferError) {
        let limit = try core.activeStorage.backend() == .file ? Int.max : Self.groupSize
        while true {
            try check()
            let tokens = RewrappedTokens(core)
            let count = try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try tokens.rewrap(limit: limit).changed
            }
            report.tokens += count
            guard count == limit else { return }
        }
    }

    private static let groupSize = 64

    /// Checks, while no other process changes the vault, that nothing depends on the replaced keys any
    /// longer, and destroys them.
    private func end(_ report: inout RotationReport) throws(CofferError) {
        let tokens = RewrappedTokens(core)
        var last = report
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            let stored = try Keybag.record.read(device: core.device, in: vault, repairing: true)
            guard stored.payload.isRotating else { return last.isComplete = true }
            try core.drainPendingTokens(in: vault)
            let rest = try tokens.rewrap(limit: .max)
            let pending = try tokens.resealPending(in: vault)
            last.tokens += rest.changed
            last.pendingTokens += pending
            last.unreadableTokens = rest.unreadable
            let pairs = try RewrappedKeyPairs(core).rewrap(in: vault)
            last.keyPairs += pairs.changed
            last.unreadableKeyPairs = pairs.unreadable
            last.databases = try tokens.databases(of: Set(last.classes), in: vault)
            let keys = try FileKeysetRecord(device: core.device).read(in: vault).keys
            if keys.hasIndex {
                try files.index.reseal(in: vault) { (protection) throws(CofferError) in
                    try core.keys.key(protection)
                }
            }
            let isInUse = core.keys.all.values.contains { $0.former.map { keys.depends(on: $0) } ?? false }
            guard last.unreadableTokens == 0, last.unreadableKeyPairs == 0, last.unreadableFiles.isEmpty,
                !isInUse
            else { return }
            try core.updateKeybag(stored, in: vault) { (keybag) throws(CofferError) in keybag.former = [:] }
            last.isComplete = true
        }
        report = last
    }
}
