package import CofferDBus

/// Where the service sends its signals.
package protocol ServiceBus: Sendable {
    /// Sends a signal, to one connection if `destination` is given.
    func emit(
        _ path: String, _ interface: String, _ member: String, _ values: [BusContent],
        to destination: String?)
}

extension MessageBus: ServiceBus {}
