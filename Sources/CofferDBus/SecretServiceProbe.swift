import CofferBase

/// A check for a running Secret Service (the desktop keyring). The check does not start the service.
package enum SecretServiceProbe {
    /// The check's result.
    package enum Answer: Sendable {
        /// A Secret Service is on the session bus.
        case running
        /// There is a session bus, but no Secret Service on it.
        case absent
        /// There is no session bus, or it cannot be used.
        case noBus
        /// The bus did not answer in time.
        case timedOut
        /// This build does not support the Secret Service.
        case notBuilt
    }

    /// The name that a Secret Service owns on the bus.
    package static let serviceName = "org.freedesktop.secrets"

    /// Checks for a Secret Service on the bus at `address`, by default the session bus, and returns the
    /// result. Connecting and querying must each finish within `deadline`.
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
