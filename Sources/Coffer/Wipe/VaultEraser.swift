import CofferBase
import CofferEngine
import SystemPackage

/// Erases a vault: tombstone, memory, keys, data, proof. Each step may be repeated: already gone is success.
/// A crash anywhere after the tombstone is finished by whoever opens the home next, without a passcode.
///
/// Nothing has to be readable, and nothing that fails stops the rest: see ``WipeFindings``.
struct VaultEraser {
    let home: VaultDirectory
    let time: VaultClock
    /// Told of every step, from the thread that wipes.
    var report: @Sendable (WipeProgress) -> Void = { _ in }
    /// The digest of the signed order that is carried out; `nil` without one.
    var orderDigest: String?
    /// The vault that is meant where a user's namespace is to be wiped; another one in its place stays.
    var namespaceID: VaultID?
    /// Asked under the home's lock before tokens are erased by an order: whether that is still to be done.
    var isDue: @Sendable () throws(CofferError) -> Bool = { () throws(CofferError) in true }
    /// How long the home's lock is waited for before the wipe goes on without.
    var lockDeadline = VaultDirectory.lockDeadline

    /// Finishes a wipe that was interrupted, if there is one; of a namespace, also that of the home around
    /// it. A state that cannot be read is thrown, and erases nothing.
    static func finishInterrupted(at location: VaultLocation, time: VaultClock) throws(CofferError) {
        if let parentVault = location.parentVault { try finishInterrupted(at: parentVault, time: time) }
        let home: VaultDirectory
        do throws(CofferError) {
            home = try VaultDirectory.openDirectory(location)
        } catch {
            guard error.code == .notInitialised else { throw error }
            return
        }
        let wiper = VaultEraser(home: home, time: time)
        if try wiper.isInterrupted() {
            try wiper.checkTombstone()
            try home.withExclusiveLock { () throws(CofferError) in try wiper.finishInterrupted() }
        }
        try? OrphanedSecretItems(home: home).collect()
    }

    /// Refuses a tombstone of another vault than the one that is there and sound: one file from a backup of
    /// an earlier vault erases nothing.
    private func checkTombstone() throws(CofferError) {
        guard let state = try home.state(),
            WipeTarget(home).named.contains(where: { $0 != state.vaultID })
        else { return }
        throw CofferError(
            .foreign,
            "The state record says that another vault was wiped, not the one that is here. Nothing was "
                + "erased: put the right state record back, or erase this vault yourself with a wipe.")
    }

    private func finishInterrupted() throws(CofferError) {
        guard try isInterrupted(), let state = try home.state() else { return }
        var wiper = self
        wiper.orderDigest = state.cause?.orderDigest
        let reason = state.cause?.reason ?? "an interrupted wipe"
        if state.phase == .wipingTokens {
            _ = try wiper.completeTokenWipe(state.vaultID, reason: reason, completes: true, device: nil)
        } else {
            _ = try wiper.finish([state.vaultID], reason: reason, completes: true).complete()
        }
    }

    func isInterrupted() throws(CofferError) -> Bool {
        switch try home.state()?.phase {
        case .wiping, .wipingTokens: true
        case .wiped: try home.directory.status(of: VaultDirectory.vaultName) != nil
        case .active, nil: false
        }
    }

    /// Wipes what `scope` says; throws when anything is left.
    ///
    /// - Parameters:
    ///   - scope: What is erased.
    ///   - reason: What the receipt says.
    ///   - core: The session that asks, which forgets what it has in memory; `nil` when nobody opened the
    ///     vault.
    /// - Returns: What was removed.
    /// - Throws: As ``Vault/wipe(_:reason:)``.
    func wipe(_ scope: WipeScope, reason: String, by core: VaultCore?) throws(CofferError) -> WipeReceipt {
        try run(scope, reason: reason, by: core).complete()
    }

    /// The same, and says what was done also when something is left. What is thrown here came before anything
    /// was touched, but for a disk that takes no change.
    func run(_ scope: WipeScope, reason: String, by core: VaultCore?) throws(CofferError) -> WipeEnd {
        switch scope {
        case .tokens: return try wipeTokens(reason: reason, by: core)
        case .all: return try wipeThisVault(scope, reason: reason, by: core)
        case .user(let user):
            var inside = try namespace(of: user)
            if let namespaceID { inside = try inside.pinned(to: namespaceID) }
            var wiper = VaultEraser(home: inside, time: time, report: report)
            wiper.orderDigest = orderDigest
            return try wiper.wipeThisVault(scope, reason: reason, by: nil)
        }
    }

    /// The tokens alone need the vault readable: what is to stay is told from what is to go by it.
    private func wipeTokens(reason: String, by core: VaultCore?) throws(CofferError) -> WipeEnd {
        let word = VaultStateFile.Phase.wipingTokens
        return try home.withExclusiveLock { () throws(CofferError) in
            guard let state = try home.state() else { throw VaultDirectory.missing(home.path) }
            guard state.isAlive, home.belongsToThisVault(state) else { throw CofferError.wiped }
            _ = try home.openVault()
            guard try isDue() else {
                throw CofferError(.orderReplayed, "The order was carried out before.")
            }
            let isResumed = state.phase == word
            if !isResumed { try writeTombstone(word, state.vaultID, reason: reason) }
            report(WipeProgress(.tombstone))
            let receipt = try completeTokenWipe(
                state.vaultID, reason: reason, completes: isResumed, device: core?.device)
            return WipeEnd(receipt: receipt, failure: nil)
        }
    }

    /// Wipes the vault of this home, whatever state it is in.
    private func wipeThisVault(
        _ scope: WipeScope, reason: String, by core: VaultCore?
    ) throws(CofferError) -> WipeEnd {
        let beginning = Beginning(time)
        // Looked at before the lock, which would make its file in a directory that is no vault.
        let seen = try target(of: core)
        // Keys in memory need no lock: they do not wait for one that another process holds.
        let early = { _ = evict(seen.ids) }
        return try home.insisting(within: lockDeadline, waiting: early) { (lock) throws(CofferError) in
            let target = try target(of: core)
            var findings = WipeFindings(unverified: Self.unverified)
            if let lock {
                findings.noteUnproved("what another process wrote meanwhile: the home's lock", because: lock)
            }
            let isResumed = target.state?.phase == .wiping || target.state?.phase == .wiped
            if !isResumed { try mark(target, reason: reason, &findings) }
            report(WipeProgress(.tombstone))
            return finish(
                target.ids, reason: reason, scope: scope, completes: isResumed, since: beginning, findings)
        }
    }

    /// The traces of the vault, which is one that may be wiped.
    private func target(of core: VaultCore?) throws(CofferError) -> WipeTarget {
        var target = WipeTarget(home)
        try check(target)
        if let core { target.add(core.device.vaultID) }
        return target
    }

    /// Drops the keys of the vault and of its namespaces from memory and from the kernel keyring; returns the
    /// ids of the namespaces. Changes nothing on the disk.
    private func evict(_ ids: [VaultID]) -> [VaultID] {
        var findings = WipeFindings()
        let inside = namespaceNames(&findings).flatMap { name in
            (try? home.namespaceForWiping(name)).map { WipeTarget($0).ids } ?? []
        }
        forget(ids + inside)
        return inside
    }

    /// Throws for what is no vault, what was wiped before, and what is another vault than the session's.
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

    /// Writes the tombstone. On a disk that takes no change, what is elsewhere goes; where only the mark
    /// cannot be written, the wipe goes on without.
    private func mark(
        _ target: WipeTarget, reason: String, _ findings: inout WipeFindings
    ) throws(CofferError) {
        do throws(CofferError) {
            try writeTombstone(.wiping, target.ids.first ?? .unknown, reason: reason)
        } catch {
            guard error.code != .readOnly else { throw evictKeysOnReadOnlyDisk(target.ids, error) }
            findings.noteUnproved("that an interruption would have been made good: the mark", because: error)
        }
    }

    /// Writes the tombstone.
    func writeTombstone(_ word: VaultStateFile.Phase, _ vaultID: VaultID, reason: String) throws(CofferError)
    {
        let cause = WipeReason(reason: reason, orderDigest: orderDigest)
        try VaultStateFile(phase: word, vaultID: vaultID, cause: cause).writeOverAnything(in: home.directory)
    }

    /// What can be done where the disk takes no tombstone: what is in memory and in keyrings goes. With its
    /// device key in the Secret Service, the vault opens with nothing after that.
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
        let places = (findings.failures + findings.unverified).map { " Perhaps left: \($0)." }
        return CofferError(
            error.code,
            "The disk is read-only: the vault is still there. Its keys were dropped from memory and from "
                + "keyrings; wipe again when the disk can be written." + places.joined(),
            systemError: error.systemError)
    }
}
