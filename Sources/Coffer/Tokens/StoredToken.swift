/// A stored token with its description.
public struct StoredToken: Sendable {
    /// The value, which is cleared when its last reference is released.
    public let token: Token
    /// The description.
    public let info: TokenInfo

    /// Creates a stored token for use in an app's test doubles.
    public init(token: Token, info: TokenInfo) {
        self.token = token
        self.info = info
    }
}
