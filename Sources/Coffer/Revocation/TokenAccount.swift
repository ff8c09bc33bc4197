/// An account at a service. All tokens for that service and account belong to it, whatever their kind. Names
/// are compared byte by byte.
public struct TokenAccount: Sendable, Hashable {
    /// The service's name, as in ``TokenID/service``.
    public let service: String
    /// The account's name at the service, as in ``TokenID/account``.
    public let account: String

    /// Creates an account from the service's name and the account's name at that service.
    public init(service: String, account: String) {
        self.service = service
        self.account = account
    }

    /// Creates the account to which a token belongs.
    public init(_ id: TokenID) { self.init(service: id.service, account: id.account) }

    /// Returns whether two accounts' names have the same bytes. Unicode equivalence would merge two accounts
    /// into one.
    public static func == (one: TokenAccount, other: TokenAccount) -> Bool {
        one.service.utf8.elementsEqual(other.service.utf8)
            && one.account.utf8.elementsEqual(other.account.utf8)
    }

    /// Hashes the same bytes that `==` compares.
    public func hash(into hasher: inout Hasher) {
        for text in [service, account] { hasher.combine(Array(text.utf8)) }
    }
}
