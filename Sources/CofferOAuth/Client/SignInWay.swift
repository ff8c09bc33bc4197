public import Coffer
public import CofferBase

/// The way in which a user signs in.
public enum SignInWay: Sendable {
    /// The user's own browser on this machine, which brings the answer back to a listener.
    case browser
    /// A browser on any machine. Its last page cannot be shown, and the user pastes the address of that page;
    /// the closure returns the pasted text.
    case pastedRedirect(@Sendable () async throws(CofferError) -> Token)
    /// A browser on any device, in which the user enters a code (RFC 8628).
    case device
}
