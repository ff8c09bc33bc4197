public import Coffer

/// What signing out does beside removing the session.
public struct LogoutOptions: Sendable {
    /// What becomes of the account's other data.
    public enum Stores: String, Sendable, Hashable, CaseIterable {
        /// The namespace with the account's name is wiped, and programs that watch the vault are told that
        /// the account's data goes.
        case remove
        /// Everything but the session stays.
        case keep
    }

    /// What becomes of the account's other data.
    public var stores: Stores
    /// Whether the receipt contains the URL at which a browser ends the user's session at the server.
    public var endSession: Bool
    /// The time for the revocation at the server. What is not revoked by then is revoked later.
    public var deadline: Duration
    /// The vault's passcode, if it is to be removed so that the next user sets one; `nil` to keep it.
    public var passcode: Passcode?

    /// Creates options.
    ///
    /// - Parameters:
    ///   - stores: What becomes of the account's other data.
    ///   - endSession: Whether to return the URL that ends the user's session at the server.
    ///   - deadline: The time for the revocation at the server.
    ///   - passcode: The vault's passcode, if it is to be removed.
    public init(
        stores: Stores = .remove, endSession: Bool = false, deadline: Duration = .seconds(10),
        passcode: Passcode? = nil
    ) {
        self.stores = stores
        self.endSession = endSession
        self.deadline = deadline
        self.passcode = passcode
    }
}
