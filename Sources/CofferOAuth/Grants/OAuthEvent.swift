public import CofferBase

/// A change of a session at a server.
public struct OAuthEvent: Sendable {
    /// The kind of change.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A sign-in succeeded, and its tokens are stored.
        case paired
        /// The tokens were renewed.
        case refreshed
        /// A renewal failed; the session stays.
        case refreshFailed
        /// No complete answer to a renewal came; the renewal is repeated with the next use.
        case uncertain
        /// The server no longer accepts the session, probably because an answer was lost or a copy of the
        /// vault renewed it.
        case lost
        /// The server revoked the session.
        case revoked
        /// The session's policy ended it.
        case expired
        /// The server named another host for the session's requests.
        case instanceChanged
        /// The session was signed out.
        case loggedOut
    }

    /// The kind of change.
    public let kind: Kind
    /// The name of the session's profile.
    public let profile: String
    /// The session's account.
    public let account: String
    /// The error that led to the change; `nil` if there was none.
    public let error: CofferError?

    /// Creates an event, for an app's test doubles.
    ///
    /// - Parameters:
    ///   - kind: The kind of change.
    ///   - profile: The name of the session's profile.
    ///   - account: The session's account.
    ///   - error: The error that led to the change.
    public init(_ kind: Kind, profile: String, account: String, error: CofferError? = nil) {
        self.kind = kind
        self.profile = profile
        self.account = account
        self.error = error
    }
}
