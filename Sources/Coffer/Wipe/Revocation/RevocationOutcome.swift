public import CofferBase

/// What became of one revocation.
public enum RevocationOutcome: Sendable {
    /// A signed order was carried out.
    case carriedOut(OrderOutcome)
    /// The grant was taken back, and the policy wiped the vault.
    case wiped(WipeReceipt)
    /// The grant was taken back, and the policy dropped every key.
    case locked
    /// The grant was taken back, and the policy left it to the program.
    case kept
    /// An order that this vault does not take, and why; nothing was changed.
    case refused(CofferError)
}
