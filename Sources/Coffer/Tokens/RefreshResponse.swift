import CofferBase
public import FoundationEssentials

/// What a refresh obtained: the token to store in the place of the one before.
public struct RefreshResponse: Sendable {
    /// The new value.
    public let token: Token
    /// When it stops being valid; `nil` for never.
    public let expires: Date?
    /// Its OAuth scopes; `nil` for those of the token before.
    public let scopes: [String]?
    /// The caller's own attributes; `nil` for those of the token before.
    public let attributes: [String: String]?

    /// Puts the parts together.
    ///
    /// - Parameters:
    ///   - token: The new value.
    ///   - expires: When it stops being valid; `nil` for never.
    ///   - scopes: Its OAuth scopes; `nil` for those of the token before.
    ///   - attributes: The caller's own attributes; `nil` for those of the token before.
    public init(
        _ token: Token, expires: Date? = nil, scopes: [String]? = nil, attributes: [String: String]? = nil
    ) {
        self.token = token
        self.expires = expires
        self.scopes = scopes
        self.attributes = attributes
    }
}
