/// An account at a service: all tokens that have both, of whatever kind. Compared byte for byte.
public struct TokenAccount: Sendable, Hashable {
    /// The service, as ``TokenID/service``.
    public let service: String
    /// The account at the service, as ``TokenID/account``.
    public let account: String

    /// The account `account` at `service`.
    public init(service: String, account: String) {
        self.service = service
        self.account = account
    }

    /// The account that a token is for.
    public init(_ id: TokenID) { self.init(service: id.service, account: id.account) }

    /// Compares the bytes: Unicode's equivalence would make one account of two.
    public static func == (one: TokenAccount, other: TokenAccount) -> Bool {
        one.service.utf8.elementsEqual(other.service.utf8)
            && one.account.utf8.elementsEqual(other.account.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        for text in [service, account] { hasher.combine(Array(text.utf8)) }
    }
}
