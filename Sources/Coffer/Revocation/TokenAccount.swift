/// An account at a service, to which all tokens with these two names belong, whatever their kind. Names are
/// compared byte by byte.
public struct TokenAccount: Sendable, Hashable {
    /// The service, as ``TokenID/service``.
    public let service: String
    /// The account at the service, as ``TokenID/account``.
    public let account: String

    /// Creates an account from the names of its service and of the account itself.
    public init(service: String, account: String) {
        self.service = service
        self.account = account
    }

    /// Creates the account that a token is for.
    public init(_ id: TokenID) { self.init(service: id.service, account: id.account) }

    /// Compares the bytes, because Unicode equivalence would merge two accounts into one.
    public static func == (one: TokenAccount, other: TokenAccount) -> Bool {
        one.service.utf8.elementsEqual(other.service.utf8)
            && one.account.utf8.elementsEqual(other.account.utf8)
    }

    /// Hashes the bytes that `==` compares.
    public func hash(into hasher: inout Hasher) {
        for text in [service, account] { hasher.combine(Array(text.utf8)) }
    }
}
