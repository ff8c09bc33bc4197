import CofferBase
import CofferCrypto
import CofferEngine
import FoundationEssentials
import SystemPackage

/// Carrying out the orders that were taken, and what every opening of a vault begins with.
extension VaultCore {
    /// Judges an order again, under the lock, takes its counter and carries it out.
    func execute(_ order: VerifiedCommand) throws(CofferError) -> OrderOutcome {
        try obey(order).orThrow()
    }

    /// The same, with a refusal told from a failure. Of several who have the same order one carries it out;
    /// to the others it is a replay.
    func obey(_ order: VerifiedCommand) throws(CofferError) -> Result<OrderOutcome, OrderRefusal> {
        let pending: PendingOrder?
        switch try take(order) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let taken): pending = taken
        }
        switch order.order.action {
        case .wipe: break
        case .contact: return .success(.contactNoted)
        case .pin(let key): return .success(.keyPinned(key))
        case .unpin(let key): return .success(.keyRemoved(key))
        }
        guard let pending else { return .failure(Self.replay) }
        return try finish(pending, reason: order.order.reason)
    }

    private static let replay = OrderRefusal(.orderReplayed, "The order was carried out before.")

    /// Erases what an order was taken for; a replay when that is done.
    func finish(
        _ order: PendingOrder, reason: String
    ) throws(CofferError) -> Result<OrderOutcome, OrderRefusal> {
        do throws(CofferError) {
            return .success(.wiped(try erase(order, reason: reason)))
        } catch {
            guard try isDone(order, by: error) else { throw error }
            try markCompleted(order)
            return .failure(Self.replay)
        }
    }

    /// Erases what an order was taken for, and no other; the receipt names it. May be repeated after a crash
    /// anywhere.
    private func erase(_ order: PendingOrder, reason: String) throws(CofferError) -> WipeReceipt {
        var wiper = VaultEraser(home: home, time: time, orderDigest: order.digest)
        wiper.namespaceID = order.vaultID
        wiper.isDue = { [self] () throws(CofferError) in
            try readOrderBook()?.pending(order.digest) != nil && !Self.hasReceipt(of: order, in: home)
        }
        let receipt = try wiper.wipe(
            order.scope, reason: reason.isEmpty ? "a signed order" : reason, by: self)
        // What cannot be noted now is found done by the next opening.
        if order.scope != .all { try? markCompleted(order) }
        return receipt
    }

    /// Whether an error of ``erase(_:reason:)`` says that what was ordered is done: the tokens were erased,
    /// or the vault that the order was for is no more.
    private func isDone(_ order: PendingOrder, by error: CofferError) throws(CofferError) -> Bool {
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

    /// What was erased of a vault that lives on is not erased again.
    private func markCompleted(_ order: PendingOrder) throws(CofferError) {
        try changeOrderBook { (book) throws(CofferError) in
            book.pending.removeAll { $0.isOf(order.digest) }
        }
    }

    /// Whether the receipt in a home is that of this order.
    private static func hasReceipt(of order: PendingOrder, in home: VaultDirectory) -> Bool {
        guard let file = try? home.directory.open(VaultEraser.receiptName, .read),
            let bytes = try? file.readAll(limit: 1 << 24),
            let receipt = try? JSONDecoder().decode(NamedOrder.self, from: Data(bytes)),
            let digest = receipt.orderDigest
        else { return false }
        return order.isOf(digest)
    }

    private struct NamedOrder: Decodable { let orderDigest: String? }

    // MARK: At each look

    /// Carries out an order that was taken before a crash. A namespace that is gone is success.
    private func resumeInterrupted(_ order: PendingOrder, now: UInt64) throws(CofferError) {
        guard order.scope == .all || order.vaultID != nil || isStillMeant(order, now: now) else {
            return try markCompleted(order)
        }
        _ = try finish(order, reason: order.reason)
        if order.scope == .all { throw CofferError.wiped }
    }

    /// Whether an order that does not say for which vault it was taken may be carried out: it is judged
    /// again, as another vault may be in the place by now.
    private func isStillMeant(_ order: PendingOrder, now: UInt64) -> Bool {
        guard now < order.expires else { return false }
        guard case .user(let name) = order.scope else { return true }
        guard let inside = try? VaultEraser(home: home, time: time).namespace(of: name) else { return true }
        return !Self.hasReceipt(of: order, in: inside)
    }

    /// What opening a vault and looking at it later begin with: orders that a crash interrupted are carried
    /// out, and the dead-man's switch is looked at. An order that cannot be finished keeps nobody from
    /// anything else; it is tried again at each look.
    ///
    /// A record that is damaged keeps no vault from opening: who could damage it could remove it as well, and
    /// with it what it asks for. No order is taken meanwhile; see ``Vault/securityChecks()``.
    ///
    /// - Throws: `wiped` when the vault is no more; what kept it from being erased where an order asks for
    ///   all of it.
    func processPendingCommands() throws(CofferError) {
        guard try orderRecordDamage() == nil, let book = try readOrderBook() else { return }
        // Before all that needs the disk.
        if book.contact?.action == .lock, book.isOverdue(time) { close(.contactTimeout) }
        var failure: CofferError?
        for order in book.pending {
            do throws(CofferError) {
                try resumeInterrupted(order, now: max(wallSeconds, book.newestIssue))
            } catch {
                guard error.code != .wiped else { throw error }
                if order.scope == .all { failure = error }
            }
        }
        try attendToContact()
        if let failure { throw failure }
    }

    /// Looks at the dead-man's switch. The time is noted where the disk takes it.
    private func attendToContact() throws(CofferError) {
        guard var book = try readOrderBook(), book.contact != nil else { return }
        if book.clock.isStale(time) {
            do throws(CofferError) {
                book = try changeOrderBook { (book) throws(CofferError) in
                    book.clock.tick(time)
                    return book
                }
            } catch {
                guard error.code != .wiped else { throw error }
            }
        }
        guard let contact = book.contact, book.isOverdue(time) else { return }
        switch contact.action {
        case .lock: close(.contactTimeout)
        case .wipe:
            // Nothing is erased by a look that may be another machine's.
            guard time.knowsBoot else { return close(.contactTimeout) }
            let days = contact.limit.components.seconds / 86_400
            _ = try VaultEraser(home: home, time: time).wipe(
                .all, reason: "no contact for \(days) days of running time", by: self)
            throw CofferError.wiped
        }
    }
}
