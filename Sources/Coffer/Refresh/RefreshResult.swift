/// A token after a refresh, by this call or by another.
public struct RefreshResult: Sendable {
    /// The value now stored.
    public let token: Token
    /// The token's description.
    public let info: TokenInfo
    /// Whether this call obtained the token; otherwise another caller did while this call waited.
    public let didRefresh: Bool
}
