import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// Where orders arrive: what is believed, and noted.
///
/// The counter of an order is on the disk before anything is erased, and with it what the order asks for:
/// the next opening of the vault makes up for a crash between the two.
extension VaultCore {
    /// The record of orders; `nil` while the vault has none. Without the home's lock: one slot is always
    /// whole.
    func readOrderBook() throws(CofferError) -> RemoteCommandRecord? {
        let vault = try home.openVault()
        return try home.mappingMissingFiles { () throws(CofferError) in try orderBook(in: vault)?.book }
    }

    /// Why the record of orders cannot be read, where that will not pass by itself.
    func orderRecordDamage() throws(CofferError) -> CofferError? {
        do throws(CofferError) {
            _ = try readOrderBook()
            return nil
        } catch {
            guard RemoteCommandRecord.lastingDamage.contains(error.code) else { throw error }
            return error
        }
    }

    private func orderBook(
        in vault: borrowing Descriptor, repairing: Bool = false
    ) throws(CofferError) -> (book: RemoteCommandRecord, contents: DualSlotRecord.Contents)? {
        guard try vault.status(of: RemoteCommandRecord.record.name) != nil else { return nil }
        let contents = try RemoteCommandRecord.record.read(
            vaultID: device.vaultID, key: device.key(KDFLabel.ordersMAC), in: vault, repairing: repairing)
        return (try RemoteCommandRecord(decoding: contents.payload), contents)
    }

    /// Changes the record under the home's lock; what `change` throws changes nothing.
    func changeOrderBook<Outcome>(
        _ change: (inout RemoteCommandRecord) throws(CofferError) -> Outcome
    ) throws(CofferError) -> Outcome {
        // A refusal is no damage of the home: it goes past whoever looks at the home after an error.
        var refusal: CofferError?
        let result: Outcome? = try home.withExclusiveVault { (vault) throws(CofferError) in
            let stored = try orderBook(in: vault, repairing: true)
            var book = stored?.book ?? RemoteCommandRecord(time)
            let result: Outcome
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
        _ book: RemoteCommandRecord, over old: DualSlotRecord.Contents?, in vault: borrowing Descriptor
    ) throws(CofferError) {
        let key = try device.key(KDFLabel.ordersMAC)
        guard let old else {
            return try RemoteCommandRecord.record.createAtomically(
                book.encoded, vaultID: device.vaultID, key: key, in: vault)
        }
        try RemoteCommandRecord.record.update(
            old, to: book.encoded, vaultID: device.vaultID, key: key, in: vault)
    }

    /// Seconds since 1970 by the machine's clock; before that, 0.
    var wallSeconds: UInt64 { UInt64(clamping: time.wallClock().components.seconds) }

    /// Judges an order and changes nothing.
    func verify(_ order: SignedCommand) throws(CofferError) -> VerifiedCommand {
        try verificationResult(of: order).orThrow()
    }

    /// The same, with a refusal told from a failure.
    func verificationResult(
        of order: SignedCommand
    ) throws(CofferError) -> Result<VerifiedCommand, OrderRefusal> {
        try verificationResult(of: order, by: readOrderBook() ?? RemoteCommandRecord(time))
    }

    /// An order that is being carried out is not judged again: that was done before its counter was taken.
    private func verificationResult(
        of order: SignedCommand, by book: RemoteCommandRecord
    ) throws(CofferError) -> Result<VerifiedCommand, OrderRefusal> {
        if book.pending(order.digest) != nil { return .success(VerifiedCommand(order)) }
        return try book.rules(vaultID: device.vaultID, now: wallSeconds).verificationResult(of: order)
    }

    /// Judges an order again, under the lock, and takes its counter; of an order to erase returns what is to
    /// be carried out.
    func take(_ order: VerifiedCommand) throws(CofferError) -> Result<PendingOrder?, OrderRefusal> {
        try changeOrderBook { (book) throws(CofferError) in
            if let pending = book.pending(order.digest) { return .success(pending) }
            if case .failure(let refusal) = try verificationResult(of: order.signed, by: book) {
                return .failure(refusal)
            }
            var pending: PendingOrder?
            if case .wipe(let scope) = order.order.action {
                switch try target(of: scope) {
                case .failure(let refusal): return .failure(refusal)
                case .success(let vaultID):
                    pending = PendingOrder(order.signed, scope, for: vaultID)
                }
            }
            try book.requireRoom(for: order.order.action, pending)
            do throws(OrderRefusal) {
                try book.take(order, pending, time: time)
                return .success(pending)
            } catch {
                return .failure(error)
            }
        }
    }

    /// The vault that an order of this scope is for, where anything tells its id. A user who has no namespace
    /// is a refusal: then no counter is taken.
    private func target(of scope: WipeScope) throws(CofferError) -> Result<VaultID?, OrderRefusal> {
        guard case .user(let name) = scope else { return .success(device.vaultID) }
        let absent = OrderRefusal(.absent, "The user that the order names has no namespace here.")
        let inside: WipeTarget
        do throws(CofferError) {
            inside = WipeTarget(try VaultEraser(home: home, time: time).namespace(of: name))
        } catch {
            switch error.code {
            case .notInitialised: return .failure(absent)
            case .wiped: throw error
            case .refused where VaultLocation(path: home.path).parentVault != nil: throw error
            // Nobody can look there now. The order is noted and tried again, and holds up no other.
            default: return .success(nil)
            }
        }
        guard inside.isVault, inside.state?.phase != .wiped else { return .failure(absent) }
        return .success(inside.ids.first)
    }

    /// Whether an order to erase was taken and waits to be finished.
    func isPending(_ order: SignedCommand) -> Bool {
        (try? readOrderBook())?.pending(order.digest) != nil
    }
}
