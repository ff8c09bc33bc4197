/// What signing out did.
public struct LogoutReceipt: Sendable, Hashable {
    /// What became of a token at the server.
    public enum Revocation: String, Sendable, Hashable, CaseIterable {
        /// There was no token.
        case absent
        /// The server revoked the token, or did not know it any more.
        case revoked
        /// The server was not reached or did not answer. The token is kept, cannot be used, and is revoked
        /// when the server is reached, at the latest after 30 days.
        case pending
        /// The server revokes no tokens, or none of this type. The token stays valid there until it expires.
        case unsupported
        /// The token was not revoked at the server, and nothing of it is left to do so.
        case notRevoked
    }

    /// The profile's name.
    public let profile: String
    /// The account.
    public let account: String
    /// The refresh token's fate.
    public internal(set) var refreshToken = Revocation.absent
    /// The access token's fate.
    public internal(set) var accessToken = Revocation.absent
    /// Whether the account's namespace was wiped.
    public internal(set) var isNamespaceWiped = false
    /// Whether the namespace contained, or may have contained, other sessions: their tokens were erased here,
    /// and not revoked at their servers.
    public internal(set) var mayLeaveSessions = false
    /// Whether the vault's passcode was removed.
    public internal(set) var isPasscodeRemoved = false
    /// The URL at which a browser ends the user's session at the server; `nil` if it was not asked for or the
    /// server has none.
    public internal(set) var endSessionURL: HTTPSURL?

    init(_ grant: GrantID) {
        profile = grant.profile
        account = grant.account
    }

    /// Whether the server knows that the session is over: no token is left to revoke.
    public var isRevokedAtServer: Bool {
        [refreshToken, accessToken].allSatisfy { $0 == .revoked || $0 == .absent }
    }

    /// Whether a token waits until the server is reached. If neither this nor ``isRevokedAtServer`` is
    /// `true`, the session may last at the server until its tokens expire or the user ends it on the server's
    /// own pages.
    public var isRevocationPending: Bool {
        [refreshToken, accessToken].contains(.pending)
    }
}
