/// An account's data that was erased because a grant was revoked.
public struct WipedAccount: Sendable, Equatable {
    /// The account to which the grant belonged.
    public let account: TokenAccount
    /// The number of tokens that were erased.
    public let tokens: Int
    /// The receipt for wiping the namespace with the account's name; `nil` if there was no such namespace.
    public let namespace: WipeReceipt?
}
