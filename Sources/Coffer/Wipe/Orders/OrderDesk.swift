import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// Where orders arrive: what is believed, noted and carried out, and in which order.
///
/// The counter of an order is on the disk before anything is erased, and with it the order itself: a crash
/// between the two is made good by whoever opens the vault next.
extension SessionCore {
    /// The record of orders; `nil` while the vault has none. Without the home's lock: one slot is always
    /// whole.
    func readOrderBook() throws(CofferError) -> OrderBook? {
        let vault = try home.openVault()
        return try home.checkingState { () throws(CofferError) in try orderBook(in: vault)?.book }
    }

    /// Why the record of orders cannot be read, where that will not pass by itself.
    func orderRecordDamage() throws(CofferError) -> CofferError? {
        do throws(CofferError) {
            _ = try readOrderBook()
            return nil
        } catch {
            let lasting: Set<CofferError.Code> = [
                .corrupt, .foreign, .unsupportedVersion, .refused, .permissionDenied,
            ]
            guard lasting.contains(error.code) else { throw error }
            return error
        }
    }

    private func orderBook(
        in vault: borrowing Descriptor, repairing: Bool = false
    ) throws(CofferError) -> (book: OrderBook, contents: SlotRecord.Contents)? {
        guard try vault.status(of: OrderBook.record.name) != nil else { return nil }
        let contents = try OrderBook.record.read(
            vaultID: device.vaultID, key: device.key(Label.ordersMAC), in: vault, repairing: repairing)
        return (try OrderBook(decoding: contents.payload), contents)
    }

    /// Changes the record under the home's lock; what `change` throws changes nothing.
    func changeOrderBook<Result>(
        _ change: (inout OrderBook) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        // A refusal is no damage of the home: it goes past whoever looks at the home after an error.
        var refusal: CofferError?
        let result: Result? = try home.changingVault { (vault) throws(CofferError) in
            let stored = try orderBook(in: vault, repairing: true)
            var book = stored?.book ?? OrderBook(time)
            let result: Result
            do throws(CofferError) {
                result = try change(&book)
            } catch {
                refusal = error
                return nil
            }
            if book != stored?.book { try write(book, over: stored?.contents, in: vault) }
            return result
        }
        guard let result else { throw refusal ?? CofferError.wiped }
        return result
    }

    private func write(
        _ book: OrderBook, over old: SlotRecord.Contents?, in vault: borrowing Descriptor
    ) throws(CofferError) {
        let key = try device.key(Label.ordersMAC)
        guard let old else {
            return try OrderBook.record.install(
                book.encoded, vaultID: device.vaultID, key: key, in: vault)
        }
        try OrderBook.record.update(old, to: book.encoded, vaultID: device.vaultID, key: key, in: vault)
    }

    /// Seconds since 1970 by the machine's clock; before that, 0.
    var wallSeconds: UInt64 { UInt64(clamping: time.wall().components.seconds) }

    /// Judges an order and changes nothing.
    func verify(_ order: UnverifiedWipeOrder) throws(CofferError) -> VerifiedWipeOrder {
        let book = try readOrderBook() ?? OrderBook(time)
        return try judge(order, by: book)
    }

    /// The order that is being carried out is not judged again: that was done before its counter was taken.
    private func judge(
        _ order: UnverifiedWipeOrder, by book: OrderBook
    ) throws(CofferError) -> VerifiedWipeOrder {
        if book.pending == order.bytes { return VerifiedWipeOrder(order) }
        return try book.rules(vaultID: device.vaultID, now: wallSeconds).verify(order)
    }

    /// Judges an order again, under the lock, takes its counter and carries it out.
    func carryOut(_ order: VerifiedWipeOrder) throws(CofferError) -> OrderOutcome {
        if case .wipe(.user(let name)) = order.order.action { try requireNamespace(of: name) }
        try changeOrderBook { (book) throws(CofferError) in
            let judged = try judge(order.unverified, by: book)
            guard book.pending != order.unverified.bytes else { return }
            guard try order.order.action.isFree(of: book.pendingOrder()) else {
                throw CofferError(.busy, "Another order is being carried out: open the vault again.")
            }
            try book.take(judged, time: time)
        }
        switch order.order.action {
        case .wipe(let scope): return .wiped(try erase(scope, by: order))
        case .contact: return .contactNoted
        case .pin(let key): return .keyPinned(key)
        case .unpin(let key): return .keyRemoved(key)
        }
    }

    /// Throws `absent` for a user who has no namespace: then no counter is taken.
    private func requireNamespace(of user: String) throws(CofferError) {
        let absent = CofferError(.absent, "The user that the order names has no namespace here.")
        let inside: WipeTarget
        do throws(CofferError) {
            inside = WipeTarget(try Wiper(home: home, time: time).namespace(of: user))
        } catch {
            throw error.code == .notInitialised ? absent : error
        }
        guard inside.isVault, inside.state?.word != .wiped else { throw absent }
    }

    /// Erases what a verified order says, and no other; the receipt names it. May be repeated after a crash
    /// anywhere.
    private func erase(_ scope: WipeScope, by order: VerifiedWipeOrder) throws(CofferError) -> WipeReceipt {
        let reason = order.order.reason.isEmpty ? "a signed order" : order.order.reason
        let wiper = Wiper(home: home, time: time, orderDigest: order.digest)
        let receipt = try wiper.wipe(scope, reason: reason, by: self)
        if scope != .all { try settle(order) }
        return receipt
    }

    /// What was erased of a vault that lives on is not erased again.
    private func settle(_ order: VerifiedWipeOrder) throws(CofferError) {
        try changeOrderBook { (book) throws(CofferError) in
            if book.pending == order.unverified.bytes { book.pending = nil }
        }
    }

    /// Carries out an order that was taken before a crash. A namespace that is gone is success.
    private func resume(_ order: VerifiedWipeOrder) throws(CofferError) {
        guard case .wipe(let scope) = order.order.action else { return try settle(order) }
        do throws(CofferError) {
            _ = try erase(scope, by: order)
            if scope == .all { throw CofferError.wiped }
        } catch {
            guard case .user = scope, [.wiped, .notInitialised].contains(error.code),
                try home.state()?.isAlive == true
            else { throw error }
            try settle(order)
        }
    }

    /// What opening a vault and looking at it later begin with: an order that a crash interrupted is carried
    /// out, and the dead-man's switch is looked at.
    ///
    /// - Throws: `wiped` when the vault is no more.
    /// A record that is damaged keeps no vault from opening: who could damage it could remove it as well, and
    /// with it what it asks for. No order is taken meanwhile; see ``Session/protections()``.
    func attendToOrders() throws(CofferError) {
        guard try orderRecordDamage() == nil, let book = try readOrderBook() else { return }
        if let order = try book.pendingOrder() { try resume(order) }
        guard let contact = book.contact else { return }
        if book.clock.isStale(time) {
            try changeOrderBook { (book) throws(CofferError) in book.clock.look(time) }
        }
        guard book.isOverdue(time) else { return }
        switch contact.action {
        case .lock: close(.noContact)
        case .wipe:
            // Nothing is erased by a look that may be another machine's.
            guard time.knowsBoot else { return close(.noContact) }
            let days = contact.limit.components.seconds / 86_400
            _ = try Wiper(home: home, time: time).wipe(
                .all, reason: "no contact for \(days) days of running time", by: self)
            throw CofferError.wiped
        }
    }
}

extension OrderAction {
    /// Whether an order may be taken while another is being carried out: a contact takes no counter of its
    /// kind, and what erases everything takes the part of one that erases less with it.
    fileprivate func isFree(of pending: VerifiedWipeOrder?) -> Bool {
        guard let pending else { return true }
        switch (self, pending.order.action) {
        case (.contact, _): return true
        case (.wipe(.all), .wipe(.all)): return false
        case (.wipe(.all), _): return true
        default: return false
        }
    }
}
