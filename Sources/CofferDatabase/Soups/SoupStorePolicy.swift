/// What becomes of stores when something happens to the login.
public struct SoupStorePolicy: Sendable, Hashable {
    /// What is done with a store.
    public enum Action: String, Sendable, CaseIterable {
        /// It is destroyed.
        case wipe
        /// It is closed; who can unlock the vault opens it again.
        case lock
        /// Nothing.
        case keep
    }

    /// What happens.
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

    /// A policy. A lock closes every store and a wipe destroys it, whatever the policy.
    ///
    /// - Parameters:
    ///   - userLogout: What a logout does to user stores.
    ///   - userRevocation: What a revocation does to user stores.
    ///   - globalLogout: What a logout does to global stores.
    ///   - globalRevocation: What a revocation does to global stores.
    public init(
        userLogout: Action = .wipe, userRevocation: Action = .wipe, globalLogout: Action = .lock,
        globalRevocation: Action = .lock
    ) {
        actions = [
            .user: [.logout: userLogout, .revocation: userRevocation],
            .global: [.logout: globalLogout, .revocation: globalRevocation],
        ]
    }

    /// What an event does to the stores of a scope.
    public func action(on event: Event, for scope: SoupStoreName.Scope) -> Action {
        switch event {
        case .lock: .lock
        case .wipe: .wipe
        case .logout, .revocation: actions[scope]?[event] ?? .wipe
        }
    }
}
