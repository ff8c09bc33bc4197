package import CofferBase

/// What became of a request for a renewed access token.
package enum RefreshOutcome: Sendable {
    /// No request was needed, or another caller renewed the tokens in the meantime.
    case current
    /// The tokens were renewed.
    case refreshed
    /// The server refused the request, or it could not be sent. The session stays; an access token that is
    /// still valid may be used.
    case refused(CofferError)
    /// No complete answer came. The next call sends the same refresh token again.
    case uncertain(CofferError)
    /// The refresh token was renewed, but the new access token must not be used.
    case suspended(CofferError)
    /// The session is lost: its refresh token was refused, which another cause than a revocation can have.
    case lost(CofferError)
    /// The server revoked the session.
    case revoked(CofferError)
    /// The session's policy ended it.
    case expired(CofferError)

    /// The reason why no tokens were renewed; `nil` if the stored access token is current.
    package var error: CofferError? {
        switch self {
        case .current, .refreshed: nil
        case .refused(let error), .uncertain(let error), .suspended(let error), .lost(let error),
            .revoked(let error), .expired(let error):
            error
        }
    }
}
