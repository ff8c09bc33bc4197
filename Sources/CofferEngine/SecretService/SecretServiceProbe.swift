import CofferBase

/// Asks whether a Secret Service (the desktop's keyring) is there, without starting one and without waiting
/// long.
package enum SecretServiceProbe {
    /// What the question found.
    package enum Answer: Sendable {
        /// A service is on the session bus.
        case running
        /// There is a session bus and no service on it.
        case absent
        /// There is no session bus.
        case noBus
        /// The bus did not answer in time.
        case timedOut
        /// This build does not speak to it.
        case notBuilt
    }

    /// The name that every Secret Service has on the bus.
    package static let serviceName = "org.freedesktop.secrets"

    /// Asks the bus at `address`, the session's unless told; one that does not answer within `deadline` is
    /// `timedOut`.
    package static func ask(at address: String? = nil, deadline: Duration = .seconds(2)) -> Answer {
        #if SecretService
            guard let address = address ?? MessageBus.sessionAddress else { return .noBus }
            do throws(CofferError) {
                let bus = try MessageBus.connect(address, deadline: deadline)
                let isOwned = try bus.ask("NameHasOwner", [.text(serviceName)], deadline: deadline)
                return isOwned?.flag == true ? .running : .absent
            } catch {
                return error.code == .timedOut ? .timedOut : .noBus
            }
        #else
            return .notBuilt
        #endif
    }
}
