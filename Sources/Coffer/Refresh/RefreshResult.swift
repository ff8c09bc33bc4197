/// A token after a refresh by this call or by another caller.
public struct RefreshResult: Sendable {
    /// The value now stored.
    public let token: Token
    /// The token's description.
    public let info: TokenInfo
    /// Whether this call obtained the token; otherwise another caller stored it meanwhile.
    public let didRefresh: Bool
}
