import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials
import SystemPackage

/// Functions that carry out accepted commands and do the work with which every opening of a vault begins.
extension VaultCore {
    /// Verifies a command again, under the lock, accepts its counter and carries it out.
    func execute(_ order: VerifiedCommand) throws(CofferError) -> RemoteCommand.Outcome {
        try obey(order).orThrow()
    }

    /// Carries out a command like ``execute(_:)``, but distinguishes a refusal from a failure. If several
    /// processes have the same command, one of them carries it out, and the others receive `orderReplayed`.
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

    private static let replay = CommandRefusal(.orderReplayed, "The command was already carried out.")

    /// Erases what an accepted command targets; if that was already done, returns a refusal as a replay.
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

    /// Erases what an accepted command targets, and nothing else; the receipt contains the command's digest.
    /// May be repeated after a crash at any point.
    private func erase(_ order: PendingCommand, reason: String) throws(CofferError) -> WipeReceipt {
        var eraser = VaultEraser(home: home, clock: clock, orderDigest: order.digest)
        eraser.namespaceID = order.vaultID
        eraser.isDue = { [self] () throws(CofferError) in
            try readRemoteCommandRecord()?.pending(order.digest) != nil
                && !Self.hasReceipt(of: order, in: home)
        }
        let receipt = try eraser.wipe(
            order.scope, reason: reason.isEmpty ? "a signed command" : reason, by: self)
        // If this cannot be recorded now, the next opening detects that the command was carried out.
        if order.scope != .all { try? markCompleted(order) }
        return receipt
    }

    /// Returns whether an error from ``erase(_:reason:)`` shows that the command was already carried out: the
    /// tokens were erased, or the namespace that the command was for no longer exists.
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

    /// Removes the command from the record, so that a vault that still exists is not erased a second time.
    private func markCompleted(_ order: PendingCommand) throws(CofferError) {
        try changeRemoteCommandRecord { (record) throws(CofferError) in
            record.pending.removeAll { $0.isOf(order.digest) }
        }
    }

    /// Returns whether the receipt in a vault directory is for this command.
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

    /// Carries out a command that was accepted before a crash. If the namespace for which it was accepted is
    /// gone, the command counts as carried out.
    private func resumeInterrupted(_ order: PendingCommand, now: UInt64) throws(CofferError) {
        guard order.scope == .all || order.vaultID != nil || isStillMeant(order, now: now) else {
            return try markCompleted(order)
        }
        _ = try finish(order, reason: order.reason)
        if order.scope == .all { throw CofferError.wiped }
    }

    /// Returns whether a command may still be carried out even though the vault for which it was accepted is
    /// not recorded. Another vault may have taken that vault's place, so the command must be unexpired and
    /// must have no receipt there.
    private func isStillMeant(_ order: PendingCommand, now: UInt64) -> Bool {
        guard now < order.expires else { return false }
        guard case .user(let name) = order.scope else { return true }
        guard let inside = try? VaultEraser(home: home, clock: clock).namespace(of: name) else { return true }
        return !Self.hasReceipt(of: order, in: inside)
    }

    /// Does the work with which every opening of a vault and every later check begins: carries out commands
    /// that a crash interrupted, and checks the dead-man's switch. A command that cannot be finished blocks
    /// nothing else; each check tries it again.
    ///
    /// A damaged record does not keep the vault from opening, because an attacker who can damage the record
    /// could also remove it, and the commands with it. Until the record is repaired, the vault accepts no
    /// command; ``Vault/securityChecks()`` reports the damage.
    ///
    /// - Throws: `wiped` if the vault was erased; if a command to erase everything fails, that command's
    ///   error.
    func processPendingCommands() throws(CofferError) {
        guard try orderRecordDamage() == nil, let record = try readRemoteCommandRecord() else { return }
        // Keys are evicted before any step that writes to the disk.
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

    /// Checks the dead-man's switch, and stores the time if the disk is writable.
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
            // If the boot is unknown, an earlier check may be another machine's, so nothing is erased.
            guard clock.knowsBoot else { return close(.contactTimeout) }
            let days = deadManSwitch.limit.components.seconds / 86_400
            _ = try VaultEraser(home: home, clock: clock).wipe(
                .all, reason: "no contact for \(days) days of running time", by: self)
            throw CofferError.wiped
        }
    }
}
