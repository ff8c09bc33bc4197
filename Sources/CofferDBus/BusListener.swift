package import CofferBase
package import CofferEngine
import Dispatch
import Synchronization

#if SecretService
    import CGIO

    /// Listens to signals on a message bus, on its own thread, which ends with the listener's last owner.
    ///
    /// The connection is its own: GLib's shared one would end the process with the bus, and start a bus if
    /// there is none. The connection and its subscriptions belong to a context that only this thread runs.
    package final class BusListener: Sendable {
        private let thread: BusConnectionThread

        private init(_ thread: BusConnectionThread) { self.thread = thread }

        deinit { thread.leave() }

        /// Connects to the bus at `address` and listens.
        ///
        /// - Parameters:
        ///   - address: The bus.
        ///   - rules: The signals to listen to.
        ///   - deadline: How long to wait until it is certain that no signal is missed from then on.
        ///   - onSignal: Called on the listener's thread.
        ///   - onEnd: Called there once when the connection to the bus ends, but not when the listener is
        ///     released.
        /// - Returns: The listener; after it is released, no further call begins.
        /// - Throws: `unsupported` when no bus listens there; `timedOut`.
        package static func start(
            address: String, rules: [BusRule], deadline: Duration,
            onSignal: @escaping @Sendable (BusSignal) -> Void, onEnd: @escaping @Sendable () -> Void
        ) throws(CofferError) -> BusListener {
            try StartRoom.requireThreads()
            let thread = BusConnectionThread(onSignal: onSignal, onEnd: onEnd)
            let listener = BusListener(thread)
            DispatchQueue(label: "coffer.bus").async { thread.live(address: address, rules: rules) }
            switch thread.waitUntilListening(deadline) {
            case .listening: return listener
            case .none: throw CofferError(.timedOut, "The bus at \(address) did not answer in time.")
            default: throw CofferError(.unsupported, "No bus answers at the address \(address).")
            }
        }

        /// Calls a method and returns its answer; does not start a service for it.
        ///
        /// - Parameters:
        ///   - destination: The service to call.
        ///   - path: The object.
        ///   - interface: The interface.
        ///   - method: The method.
        ///   - arguments: Its arguments.
        ///   - deadline: How long to wait.
        /// - Returns: The answer; `nil` when the service refuses, does not exist or does not answer in time.
        package func call(
            _ destination: String, _ path: String, _ interface: String, _ method: String,
            _ arguments: [BusArgument] = [], deadline: Duration
        ) -> SignalArguments? {
            thread.call(destination, path, interface, method, arguments, deadline)
        }

        /// The same for a method that answers with a descriptor.
        package func descriptor(
            from destination: String, _ path: String, _ interface: String, _ method: String,
            _ arguments: [BusArgument], deadline: Duration
        ) -> Descriptor? {
            let number = thread.requestDescriptor(
                destination, path, interface, method, arguments, deadline)
            guard let number else { return nil }
            return try? Descriptor.adopting(number)
        }
    }
#else
    /// A build without the trait SecretService listens to no bus.
    package final class BusListener: Sendable {
        private init() {}

        package static func start(
            address: String, rules: [BusRule], deadline: Duration,
            onSignal: @escaping @Sendable (BusSignal) -> Void, onEnd: @escaping @Sendable () -> Void
        ) throws(CofferError) -> BusListener {
            throw CofferError(.unsupported, "This build does not listen to a bus.")
        }

        package func call(
            _ destination: String, _ path: String, _ interface: String, _ method: String,
            _ arguments: [BusArgument] = [], deadline: Duration
        ) -> SignalArguments? { nil }

        package func descriptor(
            from destination: String, _ path: String, _ interface: String, _ method: String,
            _ arguments: [BusArgument], deadline: Duration
        ) -> Descriptor? { nil }
    }
#endif

extension BusListener {
    /// Whether this build can listen to a bus.
    package static var isBuilt: Bool {
        #if SecretService
            true
        #else
            false
        #endif
    }

    /// Whether a program on the bus owns `name`.
    package func isOwned(_ name: String, deadline: Duration) -> Bool {
        call(
            MessageBus.ownName, "/org/freedesktop/DBus", MessageBus.ownName, "NameHasOwner", [.text(name)],
            deadline: deadline)?.flag == true
    }
}
