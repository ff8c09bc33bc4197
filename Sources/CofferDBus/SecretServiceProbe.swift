import CofferBase

/// Checks whether a Secret Service (the desktop keyring) is running, without starting one and without waiting
/// long.
package enum SecretServiceProbe {
    /// The result of the check.
    package enum Answer: Sendable {
        /// A service is on the session bus.
        case running
        /// There is a session bus and no service on it.
        case absent
        /// There is no session bus.
        case noBus
        /// The bus did not answer in time.
        case timedOut
        /// This build does not support the Secret Service.
        case notBuilt
    }

    /// The name of every Secret Service on the bus.
    package static let serviceName = "org.freedesktop.secrets"

    /// Queries the bus at `address`, by default the session's. A bus that does not answer within `deadline`
    /// is `timedOut`.
    package static func check(at address: String? = nil, deadline: Duration = .seconds(2)) -> Answer {
        #if SecretService
            guard let address = address ?? MessageBus.sessionAddress else { return .noBus }
            do throws(CofferError) {
                let bus = try MessageBus.connect(address, deadline: deadline)
                let isOwned = try bus.callBus("NameHasOwner", [.text(serviceName)], deadline: deadline)
                return isOwned?.flag == true ? .running : .absent
            } catch {
                return error.code == .timedOut ? .timedOut : .noBus
            }
        #else
            return .notBuilt
        #endif
    }
}
