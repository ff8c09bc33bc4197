/// The result of a refresh: the token that this call or another caller obtained.
public struct RefreshResult: Sendable {
    /// The token that is now stored.
    public let token: Token
    /// The token's description.
    public let info: TokenInfo
    /// Whether this call obtained the token; otherwise, another caller stored it in the meantime.
    public let didRefresh: Bool
}
