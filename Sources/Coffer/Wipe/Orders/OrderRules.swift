import CofferBase
import FoundationEssentials

/// Whether a vault takes an order: whose orders it takes, who it is, what it has seen and what time it is.
struct OrderRules {
    let keys: [AdministratorKey]
    let vaultID: UUID
    /// `nil` where the machine has no identity.
    let deviceID: DeviceID?
    /// The counter of the last order taken; 0 for none.
    let lastOrder: UInt64
    /// The counter of the last contact taken; 0 for none.
    let lastContact: UInt64
    /// Seconds since 1970.
    let now: UInt64

    /// The same as ``judge(_:)``, for callers to whom a refusal is an error like others.
    func verify(_ order: UnverifiedWipeOrder) throws(CofferError) -> VerifiedWipeOrder {
        try judge(order).orThrow()
    }

    /// Makes a verified order, or refuses with a code of its own for each reason, in this order.
    func judge(
        _ order: UnverifiedWipeOrder
    ) throws(CofferError) -> Result<VerifiedWipeOrder, OrderRefusal> {
        let isSigned = keys.contains(order.claimedSigner) ? try order.hasValidSignature() : false
        do throws(OrderRefusal) {
            return .success(try judge(order, isSigned: isSigned))
        } catch {
            return .failure(error)
        }
    }

    private func judge(
        _ order: UnverifiedWipeOrder, isSigned: Bool
    ) throws(OrderRefusal) -> VerifiedWipeOrder {
        let claimed = order.claimed
        guard keys.contains(order.claimedSigner) else {
            throw OrderRefusal(.orderUnknownKey, "The order is signed with a key that is not pinned here.")
        }
        guard isSigned else {
            throw OrderRefusal(.orderBadSignature, "The order's signature is not that of the key it names.")
        }
        guard isMeant(by: claimed.target) else {
            throw OrderRefusal(.orderForeign, "The order is for another vault or another device.")
        }
        guard WipeOrder.counters.contains(claimed.counter) else {
            throw OrderRefusal(.orderCounterOutOfRange, "No order may have the counter \(claimed.counter).")
        }
        let last = claimed.action == .contact ? lastContact : lastOrder
        guard claimed.counter > last else {
            throw OrderRefusal(
                .orderReplayed, "The order's counter is \(claimed.counter), and \(last) has been seen.")
        }
        guard let issued = OrderEncoding.seconds(claimed.issued), issued <= now else {
            throw OrderRefusal(.orderNotYetValid, "The order is not valid yet, by this machine's clock.")
        }
        guard let expires = OrderEncoding.seconds(claimed.expires), now < expires else {
            throw OrderRefusal(.orderExpired, "The order is no longer valid.")
        }
        return VerifiedWipeOrder(order)
    }

    private func isMeant(by target: OrderTarget) -> Bool {
        switch target {
        case .vault(let id): id == vaultID
        case .device(let id): id == deviceID
        }
    }
}
