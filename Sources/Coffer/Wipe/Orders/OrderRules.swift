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

    /// Makes a verified order, or refuses with a code of its own for each reason, in this order.
    func verify(_ order: UnverifiedWipeOrder) throws(CofferError) -> VerifiedWipeOrder {
        let claimed = order.claimed
        guard keys.contains(order.claimedSigner) else {
            throw CofferError(.orderUnknownKey, "The order is signed with a key that is not pinned here.")
        }
        guard try order.hasValidSignature() else {
            throw CofferError(.orderBadSignature, "The order's signature is not that of the key it names.")
        }
        guard isMeant(by: claimed.target) else {
            throw CofferError(.orderForeign, "The order is for another vault or another device.")
        }
        guard WipeOrder.counters.contains(claimed.counter) else {
            throw CofferError(.orderCounterOutOfRange, "No order may have the counter \(claimed.counter).")
        }
        let last = claimed.action == .contact ? lastContact : lastOrder
        guard claimed.counter > last else {
            throw CofferError(
                .orderReplayed, "The order's counter is \(claimed.counter), and \(last) has been seen.")
        }
        guard let issued = OrderEncoding.seconds(claimed.issued), issued <= now else {
            throw CofferError(.orderNotYetValid, "The order is not valid yet, by this machine's clock.")
        }
        guard let expires = OrderEncoding.seconds(claimed.expires), now < expires else {
            throw CofferError(.orderExpired, "The order is no longer valid.")
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
