import CofferBase
public import FoundationEssentials

/// The result of an exchange: the token that replaces the previous one.
public struct RefreshResponse: Sendable {
    /// The new token.
    public let token: Token
    /// When the token stops being valid; `nil` for never.
    public let expires: Date?
    /// The token's OAuth scopes; `nil` keeps those of the previous token.
    public let scopes: [String]?
    /// The caller's own attributes; `nil` keeps those of the previous token.
    public let attributes: [String: String]?

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - token: The new token.
    ///   - expires: When the token stops being valid; `nil` for never.
    ///   - scopes: The token's OAuth scopes; `nil` keeps those of the previous token.
    ///   - attributes: The caller's own attributes; `nil` keeps those of the previous token.
    public init(
        _ token: Token, expires: Date? = nil, scopes: [String]? = nil, attributes: [String: String]? = nil
    ) {
        self.token = token
        self.expires = expires
        self.scopes = scopes
        self.attributes = attributes
    }
}
