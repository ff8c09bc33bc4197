import CofferBase
import CofferEngine
import CofferVault
import SystemPackage

/// An eraser that wipes a vault in five steps: tombstone, memory, keys, data and proof.
///
/// Each step may be repeated; a missing item counts as removed. After a crash at any point after the
/// tombstone is written, the next process that opens the vault finishes the wipe, without a passcode.
///
/// No file has to be readable, and no failure stops the other steps; ``WipeFindings`` collects the failures.
struct VaultEraser {
    let home: VaultDirectory
    let clock: VaultClock
    /// A closure that is called at every step, on the thread that performs the wipe.
    var report: @Sendable (WipeProgress) -> Void = { _ in }
    /// The digest of the signed command that is being carried out; `nil` if the wipe carries out no command.
    var orderDigest: String?
    /// The vault to erase when a namespace is wiped; another vault in its place stays.
    var namespaceID: VaultID?
    /// A closure that is called under the vault directory's lock before a command erases tokens. It returns
    /// whether the tokens must still be erased.
    var isDue: @Sendable () throws(CofferError) -> Bool = { () throws(CofferError) in true }
    /// The time to wait for the vault directory's lock before the wipe continues without it.
    var lockDeadline = VaultDirectory.lockDeadline

    /// Finishes an interrupted wipe, if there is one. For a namespace, first finishes an interrupted wipe of
    /// the vault that contains it. If the state cannot be read, throws an error and erases nothing.
    static func finishInterrupted(at location: VaultLocation, clock: VaultClock) throws(CofferError) {
        if let parentVault = location.parentVault { try finishInterrupted(at: parentVault, clock: clock) }
        let home: VaultDirectory
        do throws(CofferError) {
            home = try VaultDirectory.openDirectory(location)
        } catch {
            guard error.code == .notInitialised else { throw error }
            return
        }
        let eraser = VaultEraser(home: home, clock: clock)
        if try eraser.isInterrupted() {
            try eraser.checkTombstone()
            try home.withExclusiveLock { () throws(CofferError) in try eraser.finishInterrupted() }
        }
        try? OrphanedSecretItems(home: home).collect()
    }

    /// Throws an error if the tombstone belongs to a vault other than the intact one in the directory, so a
    /// single file restored from an earlier vault's backup erases nothing.
    private func checkTombstone() throws(CofferError) {
        guard let state = try home.state(),
            WipeTarget(home).named.contains(where: { $0 != state.vaultID })
        else { return }
        throw CofferError(
            .foreign,
            "Nothing was erased because the state record belongs to another vault, which was wiped. Restore "
                + "this vault's own state record, or wipe this vault explicitly.")
    }

    private func finishInterrupted() throws(CofferError) {
        guard try isInterrupted(), let state = try home.state() else { return }
        var eraser = self
        eraser.orderDigest = state.cause?.orderDigest
        let reason = state.cause?.reason ?? "an interrupted wipe"
        if state.phase == .wipingTokens {
            _ = try eraser.completeTokenWipe(state.vaultID, reason: reason, completes: true, device: nil)
        } else {
            _ = try eraser.finish([state.vaultID], reason: reason, completes: true).complete()
        }
    }

    func isInterrupted() throws(CofferError) -> Bool {
        switch try home.state()?.phase {
        case .wiping, .wipingTokens: true
        case .wiped: try home.directory.status(of: VaultDirectory.vaultName) != nil
        case .active, .replacing, nil: false
        }
    }

    /// Wipes `scope`; throws if anything is left.
    ///
    /// - Parameters:
    ///   - scope: The part of the vault to erase.
    ///   - reason: The reason to state in the receipt.
    ///   - core: The open vault that starts the wipe; `nil` if the vault is not open.
    /// - Returns: A receipt that describes what was removed.
    /// - Throws: The errors that ``Vault/wipe(_:reason:)`` throws.
    func wipe(_ scope: WipeScope, reason: String, by core: VaultCore?) throws(CofferError) -> WipeReceipt {
        try run(scope, reason: reason, by: core).complete()
    }

    /// Wipes `scope` like ``wipe(_:reason:by:)``, but returns the receipt even if anything is left. If this
    /// function throws an error, nothing was changed, except on a read-only disk or during a wipe of the
    /// tokens.
    func run(_ scope: WipeScope, reason: String, by core: VaultCore?) throws(CofferError) -> WipeEnd {
        switch scope {
        case .tokens: return try wipeTokens(reason: reason, by: core)
        case .all: return try wipeThisVault(scope, reason: reason, by: core)
        case .user(let user):
            var inside = try namespace(of: user)
            if let namespaceID { inside = try inside.pinned(to: namespaceID) }
            var eraser = VaultEraser(home: inside, clock: clock, report: report)
            eraser.orderDigest = orderDigest
            return try eraser.wipeThisVault(scope, reason: reason, by: nil)
        }
    }

    /// Wipes only the tokens. This requires a readable vault, because its contents show which items must
    /// stay.
    private func wipeTokens(reason: String, by core: VaultCore?) throws(CofferError) -> WipeEnd {
        let word = VaultStateFile.Phase.wipingTokens
        return try home.withExclusiveLock { () throws(CofferError) in
            guard let state = try home.state() else { throw VaultDirectory.missing(home.path) }
            guard state.isAlive, home.belongsToThisVault(state) else { throw CofferError.wiped }
            _ = try home.openVault()
            guard try isDue() else {
                throw CofferError(.orderReplayed, "The command was already carried out.")
            }
            let isResumed = state.phase == word
            if !isResumed { try writeTombstone(word, state.vaultID, reason: reason) }
            report(WipeProgress(.tombstone))
            let receipt = try completeTokenWipe(
                state.vaultID, reason: reason, completes: isResumed, device: core?.device)
            return WipeEnd(receipt: receipt, failure: nil)
        }
    }

    /// Wipes the vault in this directory, whatever its state.
    private func wipeThisVault(
        _ scope: WipeScope, reason: String, by core: VaultCore?
    ) throws(CofferError) -> WipeEnd {
        let beginning = Beginning(clock)
        // Inspected before the lock, which would create a lock file in a directory that is not a vault.
        let seen = try target(of: core)
        // Removing keys from memory needs no lock, so it does not wait for another process's.
        let early = { _ = evict(seen.ids) }
        return try home.insisting(within: lockDeadline, waiting: early) { (lock) throws(CofferError) in
            let target = try target(of: core)
            var findings = WipeFindings(unverified: Self.unverified)
            if let lock {
                findings.noteUnverified(
                    "data that another process wrote while it held the vault's lock", because: lock)
            }
            let isResumed = target.state?.phase == .wiping || target.state?.phase == .wiped
            if !isResumed { try mark(target, reason: reason, &findings) }
            report(WipeProgress(.tombstone))
            return finish(
                target.ids, reason: reason, scope: scope, completes: isResumed, since: beginning, findings)
        }
    }

    /// Returns the vault's traces, after checking that the vault may be wiped.
    private func target(of core: VaultCore?) throws(CofferError) -> WipeTarget {
        var target = WipeTarget(home)
        try check(target)
        if let core { target.add(core.device.vaultID) }
        return target
    }

    /// Removes the keys for the vault and its namespaces from memory and from the kernel keyring. Returns the
    /// namespaces' ids. Changes nothing on the disk.
    private func evict(_ ids: [VaultID]) -> [VaultID] {
        var findings = WipeFindings()
        let inside = namespaceNames(&findings).flatMap { name in
            (try? home.namespaceForWiping(name)).map { WipeTarget($0).ids } ?? []
        }
        removeKeysFromMemory(of: ids + inside)
        return inside
    }

    /// Throws if the directory is not a vault, if the vault was already wiped, or if the vault is not the one
    /// to erase.
    private func check(_ target: WipeTarget) throws(CofferError) {
        guard let state = target.state else {
            guard target.isVault else { throw target.refusal(at: home.path) }
            guard target.ids.isEmpty || target.ids.contains(where: home.belongsToThisVault) else {
                throw CofferError.wiped
            }
            return
        }
        guard home.belongsToThisVault(state) else { throw CofferError.wiped }
        let isInterrupted = try isInterrupted()
        guard state.phase != .wiped || isInterrupted else {
            KernelKeyCache.remove(vaultID: state.vaultID, all: true)
            throw CofferError.wiped
        }
    }

    /// Writes the tombstone. If the disk is read-only, removes the keys from memory and from keyrings, and
    /// throws an error. If the tombstone cannot be written for another reason, the wipe continues without it.
    private func mark(
        _ target: WipeTarget, reason: String, _ findings: inout WipeFindings
    ) throws(CofferError) {
        do throws(CofferError) {
            try writeTombstone(.wiping, target.ids.first ?? .unknown, reason: reason)
        } catch {
            guard error.code != .readOnly else { throw evictKeysOnReadOnlyDisk(target.ids, error) }
            findings.noteUnverified(
                "the completion of this wipe if it is interrupted, because no tombstone could be written",
                because: error)
        }
    }

    /// Writes the tombstone.
    func writeTombstone(_ word: VaultStateFile.Phase, _ vaultID: VaultID, reason: String) throws(CofferError)
    {
        let cause = WipeReason(reason: reason, orderDigest: orderDigest)
        try VaultStateFile(phase: word, vaultID: vaultID, cause: cause).writeOverAnything(in: home.directory)
    }

    /// Removes the keys from memory and from keyrings because the disk is read-only; returns the error to
    /// throw. Afterwards, a vault whose device key was in the Secret Service cannot be opened.
    private func evictKeysOnReadOnlyDisk(_ ids: [VaultID], _ error: CofferError) -> CofferError {
        for vaultID in ids {
            for core in VaultRegistry.of(vaultID) { core.close(.requested) }
            KernelKeyCache.remove(vaultID: vaultID, all: true)
            let remains = OrphanedSecretItems(home: home)
            if (try? remains.isNoted(vaultID)) == true {
                _ = try? remains.remove(vaultID, Deadline(SecretServiceClient.deadline))
            }
        }
        var findings = WipeFindings()
        removeViews(ids + evict([]), &findings)
        report(WipeProgress(.memory))
        let remaining = (findings.failures + findings.unverified).map { " These data may remain: \($0)." }
        return CofferError(
            error.code,
            "The vault could not be erased because the disk is read-only. The vault's keys were removed from "
                + "memory and from keyrings. Wipe the vault again when the disk is writable."
                + remaining.joined(),
            systemError: error.systemError)
    }
}
