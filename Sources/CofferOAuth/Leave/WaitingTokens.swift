/// The tokens of a session that are no longer used and that the server is still to revoke.
public struct WaitingTokens: Sendable, Hashable {
    /// The profile's name.
    public let profile: String
    /// The account.
    public let account: String
    /// The number of tokens; `nil` if their list cannot be read.
    public let count: Int?
    /// Whether there is a profile with this name for the server that issued all of these tokens, with the
    /// same token endpoint. Without one, they are sent nowhere.
    public let hasServer: Bool

    init(_ grant: GrantID, count: Int?, hasServer: Bool) {
        profile = grant.profile
        account = grant.account
        self.count = count
        self.hasServer = hasServer
    }
}
