/// A stored token's value and description.
public struct StoredToken: Sendable {
    /// The token's value, which is cleared when its last reference is released.
    public let token: Token
    /// The token's description, which does not include the value.
    public let info: TokenInfo

    /// Creates a stored token for use in an app's test doubles.
    public init(token: Token, info: TokenInfo) {
        self.token = token
        self.info = info
    }
}
