/// The data that the end of a grant erased.
public struct WipedAccount: Sendable, Equatable {
    /// Whose grant it was.
    public let account: TokenAccount
    /// How many tokens were erased.
    public let tokens: Int
    /// The receipt of the user's namespace; `nil` where there was none.
    public let namespace: WipeReceipt?
}
