package import Coffer
package import CofferBase

/// An access token that a request can carry.
package struct LiveToken: Sendable {
    /// The token.
    package let token: Token
    /// The description of the stored token.
    package let info: TokenInfo
    /// The time for which the token is still valid.
    package let remaining: Duration
    /// Whether a renewal was tried for this call, so that another one cannot help.
    package let isRenewalTried: Bool

    /// Creates a token.
    package init(_ token: Token, info: TokenInfo, remaining: Duration, isRenewalTried: Bool) {
        self.token = token
        self.info = info
        self.remaining = remaining
        self.isRenewalTried = isRenewalTried
    }
}

/// The access tokens of one session.
package protocol AccessTokenSource: Sendable {
    /// Returns the stored access token if it is alive; `nil` if it must be renewed first. Nothing is sent.
    ///
    /// - Throws: The error that prevents the use of the session: `signInNeeded`, `sessionLost`,
    ///   `tokenRevoked`, `locked`, `wiped` or `corrupt`.
    func stored() async throws(CofferError) -> LiveToken?

    /// Returns an access token that lives at least for `minimumLife`, renewed if necessary. If the renewal
    /// fails while the stored token is alive, the stored token is returned.
    func current(minimumLife: Duration) async throws(CofferError) -> LiveToken

    /// Returns an access token that replaces one that a server refused. If another caller has renewed it in
    /// the meantime, nothing is sent.
    func renewed(after refused: LiveToken) async throws(CofferError) -> LiveToken

    /// Notes that a server said that the user's access was taken away, and applies the policy.
    ///
    /// - Parameter reason: The reason to state in the receipt.
    /// - Throws: `timedOut` if a renewal of the session does not end; `locked`, `wiped` or `busy`.
    func serverRevoked(reason: String) async throws(CofferError)
}
