/// The data that was erased because a grant was revoked.
public struct WipedAccount: Sendable, Equatable {
    /// The account of the grant.
    public let account: TokenAccount
    /// The number of tokens that were erased.
    public let tokens: Int
    /// The receipt of the user's vault; `nil` if there was none.
    public let namespace: WipeReceipt?
}
