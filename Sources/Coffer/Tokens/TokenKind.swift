/// What a token is for.
public enum TokenKind: UInt8, Sendable, CaseIterable {
    /// An OAuth access token or an API key.
    case access = 1
    /// An OAuth refresh token.
    case refresh = 2
    /// An OpenID Connect id token.
    case id = 3
    /// Anything else.
    case other = 4

    /// The name, as the command line takes it.
    public var name: String {
        switch self {
        case .access: "access"
        case .refresh: "refresh"
        case .id: "id"
        case .other: "other"
        }
    }
}
