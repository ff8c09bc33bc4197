/// A token's purpose.
public enum TokenKind: UInt8, Sendable, CaseIterable {
    /// An OAuth access token or an API key.
    case access = 1
    /// An OAuth refresh token.
    case refresh = 2
    /// An OpenID Connect ID token.
    case id = 3
    /// Anything else.
    case other = 4

    /// The kind's name on the command line.
    public var name: String {
        switch self {
        case .access: "access"
        case .refresh: "refresh"
        case .id: "id"
        case .other: "other"
        }
    }
}
