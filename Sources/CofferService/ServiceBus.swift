package import CofferDBus

/// The recipient of the service's signals.
package protocol ServiceBus: Sendable {
    /// Sends a signal, to one connection if `destination` is given.
    func emit(
        _ path: String, _ interface: String, _ member: String, _ values: [BusContent],
        to destination: String?)
}

extension MessageBus: ServiceBus {}
