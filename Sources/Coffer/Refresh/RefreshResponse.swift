import CofferBase
public import FoundationEssentials

/// The result of a token exchange: the token that replaces the previous one.
public struct RefreshResponse: Sendable {
    /// The new token.
    public let token: Token
    /// The date on which the token expires; `nil` if it never expires.
    public let expires: Date?
    /// The token's OAuth scopes; `nil` to keep those of the previous token.
    public let scopes: [String]?
    /// The caller's attributes for the token; `nil` to keep those of the previous token.
    public let attributes: [String: String]?

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - token: The new token.
    ///   - expires: The date on which the token expires; `nil` if it never expires.
    ///   - scopes: The token's OAuth scopes; `nil` to keep those of the previous token.
    ///   - attributes: The caller's attributes for the token; `nil` to keep those of the previous token.
    public init(
        _ token: Token, expires: Date? = nil, scopes: [String]? = nil, attributes: [String: String]? = nil
    ) {
        self.token = token
        self.expires = expires
        self.scopes = scopes
        self.attributes = attributes
    }
}
