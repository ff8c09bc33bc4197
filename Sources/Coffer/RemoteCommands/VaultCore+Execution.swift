import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials
import SystemPackage

/// Carries out accepted commands, and does the work that every opening of a vault begins with.
extension VaultCore {
    /// Verifies a command again, under the lock, accepts its counter and carries it out.
    func execute(_ order: VerifiedCommand) throws(CofferError) -> RemoteCommand.Outcome {
        try obey(order).orThrow()
    }

    /// Like ``execute(_:)``, but distinguishes a refusal from a failure. If several processes have the same
    /// command, one carries it out and the others get a replay.
    func obey(_ order: VerifiedCommand) throws(CofferError) -> Result<RemoteCommand.Outcome, CommandRefusal> {
        let pending: PendingCommand?
        switch try accept(order) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let accepted): pending = accepted
        }
        switch order.content.action {
        case .wipe: break
        case .heartbeat: return .success(.heartbeatRecorded)
        case .pin(let key): return .success(.keyPinned(key))
        case .unpin(let key): return .success(.keyRemoved(key))
        }
        guard let pending else { return .failure(Self.replay) }
        return try finish(pending, reason: order.content.reason)
    }

    private static let replay = CommandRefusal(.orderReplayed, "The order was carried out before.")

    /// Erases what a command was accepted for; returns a replay if that was already done.
    func finish(
        _ order: PendingCommand, reason: String
    ) throws(CofferError) -> Result<RemoteCommand.Outcome, CommandRefusal> {
        do throws(CofferError) {
            return .success(.wiped(try erase(order, reason: reason)))
        } catch {
            guard try isDone(order, by: error) else { throw error }
            try markCompleted(order)
            return .failure(Self.replay)
        }
    }

    /// Erases what a command was accepted for, and nothing else; the receipt names the command. May be
    /// repeated after a crash at any point.
    private func erase(_ order: PendingCommand, reason: String) throws(CofferError) -> WipeReceipt {
        var eraser = VaultEraser(home: home, clock: clock, orderDigest: order.digest)
        eraser.namespaceID = order.vaultID
        eraser.isDue = { [self] () throws(CofferError) in
            try readRemoteCommandRecord()?.pending(order.digest) != nil
                && !Self.hasReceipt(of: order, in: home)
        }
        let receipt = try eraser.wipe(
            order.scope, reason: reason.isEmpty ? "a signed order" : reason, by: self)
        // If this cannot be recorded now, the next opening finds that it is done.
        if order.scope != .all { try? markCompleted(order) }
        return receipt
    }

    /// Whether an error of ``erase(_:reason:)`` shows that the command was already carried out: the tokens
    /// were erased, or the vault that the command was for no longer exists.
    private func isDone(_ order: PendingCommand, by error: CofferError) throws(CofferError) -> Bool {
        switch order.scope {
        case .all: return false
        case .tokens: return error.code == .orderReplayed
        case .user:
            guard [.wiped, .notInitialised].contains(error.code), let state = try home.state() else {
                return false
            }
            return state.isAlive && home.belongsToThisVault(state)
        }
    }

    /// Removes the command from the record, so that a vault that still exists is not erased again.
    private func markCompleted(_ order: PendingCommand) throws(CofferError) {
        try changeRemoteCommandRecord { (record) throws(CofferError) in
            record.pending.removeAll { $0.isOf(order.digest) }
        }
    }

    /// Whether the receipt in a vault directory is that of this command.
    private static func hasReceipt(of order: PendingCommand, in home: VaultDirectory) -> Bool {
        guard let file = try? home.directory.open(VaultEraser.receiptName, .read),
            let bytes = try? file.readAll(limit: 1 << 24),
            let receipt = try? JSONDecoder().decode(NamedCommand.self, from: Data(bytes)),
            let digest = receipt.orderDigest
        else { return false }
        return order.isOf(digest)
    }

    private struct NamedCommand: Decodable { let orderDigest: String? }

    // MARK: At each check

    /// Carries out a command that was accepted before a crash. A namespace that is gone is success.
    private func resumeInterrupted(_ order: PendingCommand, now: UInt64) throws(CofferError) {
        guard order.scope == .all || order.vaultID != nil || isStillMeant(order, now: now) else {
            return try markCompleted(order)
        }
        _ = try finish(order, reason: order.reason)
        if order.scope == .all { throw CofferError.wiped }
    }

    /// Whether a command that does not name the vault it was accepted for may be carried out. It is checked
    /// again, because another vault may have taken its place.
    private func isStillMeant(_ order: PendingCommand, now: UInt64) -> Bool {
        guard now < order.expires else { return false }
        guard case .user(let name) = order.scope else { return true }
        guard let inside = try? VaultEraser(home: home, clock: clock).namespace(of: name) else { return true }
        return !Self.hasReceipt(of: order, in: inside)
    }

    /// Does the work that opening a vault, and each later check, begins with: carries out commands that a
    /// crash interrupted, and checks the dead-man's switch. A command that cannot be finished blocks nothing
    /// else; each check tries it again.
    ///
    /// A damaged record keeps no vault from opening, because an attacker who can damage it could also remove
    /// it, and the commands with it. Until it is repaired no command is accepted; see
    /// ``Vault/securityChecks()``.
    ///
    /// - Throws: `wiped` if the vault no longer exists; if a command to erase everything fails, its error.
    func processPendingCommands() throws(CofferError) {
        guard try orderRecordDamage() == nil, let record = try readRemoteCommandRecord() else { return }
        // This comes before everything that needs the disk.
        if record.deadManSwitch?.action == .lock, record.isOverdue(clock) { close(.contactTimeout) }
        var failure: CofferError?
        for order in record.pending {
            do throws(CofferError) {
                try resumeInterrupted(order, now: max(wallSeconds, record.newestIssue))
            } catch {
                guard error.code != .wiped else { throw error }
                if order.scope == .all { failure = error }
            }
        }
        try applyDeadManSwitch()
        if let failure { throw failure }
    }

    /// Checks the dead-man's switch. Stores the time if the disk can be written.
    private func applyDeadManSwitch() throws(CofferError) {
        guard var record = try readRemoteCommandRecord(), record.deadManSwitch != nil else { return }
        if record.heartbeat.isStale(clock) {
            do throws(CofferError) {
                record = try changeRemoteCommandRecord { (record) throws(CofferError) in
                    record.heartbeat.tick(clock)
                    return record
                }
            } catch {
                guard error.code != .wiped else { throw error }
            }
        }
        guard let deadManSwitch = record.deadManSwitch, record.isOverdue(clock) else { return }
        switch deadManSwitch.action {
        case .lock: close(.contactTimeout)
        case .wipe:
            // A check that may be another machine's erases nothing.
            guard clock.knowsBoot else { return close(.contactTimeout) }
            let days = deadManSwitch.limit.components.seconds / 86_400
            _ = try VaultEraser(home: home, clock: clock).wipe(
                .all, reason: "no contact for \(days) days of running time", by: self)
            throw CofferError.wiped
        }
    }
}
