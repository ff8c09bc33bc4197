/// A token after a refresh, whoever made it.
public struct RefreshResult: Sendable {
    /// The value now stored.
    public let token: Token
    /// What is known of it.
    public let info: TokenInfo
    /// Whether this call obtained it; otherwise somebody else did while this call waited.
    public let didRefresh: Bool
}
