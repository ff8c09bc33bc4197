public import CofferBase

/// What became of one revocation.
public enum RevocationOutcome: Sendable {
    /// A signed order was carried out.
    case carriedOut(OrderOutcome)
    /// The grant was taken back, and the policy wiped the vault.
    case wiped(WipeReceipt)
    /// The grant was taken back, and the policy erased what the account had.
    case accountWiped(WipedAccount)
    /// The grant was taken back, and the policy dropped every key.
    case locked
    /// The grant was taken back, and the policy left it to the program.
    case kept
    /// An order that this vault does not take, and why; nothing was changed.
    case refused(CofferError)

    init(_ result: Result<OrderOutcome, OrderRefusal>) {
        switch result {
        case .success(let outcome): self = .carriedOut(outcome)
        case .failure(let refusal): self = .refused(refusal.reason)
        }
    }

    /// The word for it in the event that ends its handling; `nil` for a refused order, which has none.
    var result: RevocationResult? {
        switch self {
        case .carriedOut: .carriedOut
        case .wiped: .vaultWiped
        case .accountWiped: .accountWiped
        case .locked: .locked
        case .kept: .kept
        case .refused: nil
        }
    }

    /// Whether the same revocation can have no other outcome later. Not final is a refusal that time, a
    /// corrected clock, another pinned key or a new namespace can turn: `orderNotYetValid`, `orderExpired`,
    /// `orderUnknownKey`, `orderForeign` and `absent`.
    public var isFinal: Bool {
        guard case .refused(let error) = self else { return true }
        return ![.orderNotYetValid, .orderExpired, .orderUnknownKey, .orderForeign, .absent].contains(
            error.code)
    }
}
