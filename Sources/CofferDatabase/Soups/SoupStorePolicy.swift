/// A policy that determines how events such as a logout affect stores.
public struct SoupStorePolicy: Sendable, Hashable {
    /// An action on a store.
    public enum Action: String, Sendable, CaseIterable {
        /// The store is destroyed.
        case wipe
        /// The store is closed; a user who can unlock the vault can open it again.
        case lock
        /// The store is not changed.
        case keep
    }

    /// An event that affects stores.
    public enum Event: String, Sendable, CaseIterable {
        /// The vault was locked.
        case lock
        /// The user logged out.
        case logout
        /// The server revoked the refresh token, or it expired.
        case revocation
        /// The vault was wiped.
        case wipe
    }

    private var actions: [SoupStoreName.Scope: [Event: Action]]

    /// Creates a policy. Whatever the policy, a lock closes every store, and a wipe destroys every store.
    ///
    /// - Parameters:
    ///   - userLogout: The action that a logout takes on user stores.
    ///   - userRevocation: The action that a revocation takes on user stores.
    ///   - globalLogout: The action that a logout takes on global stores.
    ///   - globalRevocation: The action that a revocation takes on global stores.
    public init(
        userLogout: Action = .wipe, userRevocation: Action = .wipe, globalLogout: Action = .lock,
        globalRevocation: Action = .lock
    ) {
        actions = [
            .user: [.logout: userLogout, .revocation: userRevocation],
            .global: [.logout: globalLogout, .revocation: globalRevocation],
        ]
    }

    /// Returns the action that an event takes on the stores in a scope.
    public func action(on event: Event, for scope: SoupStoreName.Scope) -> Action {
        switch event {
        case .lock: .lock
        case .wipe: .wipe
        case .logout, .revocation: actions[scope]?[event] ?? .wipe
        }
    }
}
