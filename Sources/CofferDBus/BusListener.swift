package import CofferBase
package import CofferEngine
import Dispatch
import Synchronization

#if SecretService
    import CGIO

    /// A listener for signals on a message bus, with its own thread, which ends when the listener is
    /// released.
    ///
    /// The listener does not use GLib's shared connection, which ends the process when the bus ends and
    /// starts a bus if there is none. The connection and its subscriptions belong to a context that only this
    /// thread runs.
    package final class BusListener: Sendable {
        private let thread: BusConnectionThread

        private init(_ thread: BusConnectionThread) { self.thread = thread }

        deinit { thread.leave() }

        /// Connects to the bus at `address` and starts listening for signals.
        ///
        /// - Parameters:
        ///   - address: The bus address.
        ///   - rules: The rules for the signals to receive.
        ///   - deadline: The time limit for connecting and subscribing.
        ///   - onSignal: A closure that is called on the listener's thread for each signal.
        ///   - onEnd: A closure that is called once, on the listener's thread, when the connection to the bus
        ///     ends, but not when the listener is released.
        /// - Returns: The listener. Once this method returns, no signal is missed. After the listener is
        ///   released, no further call to `onSignal` begins.
        /// - Throws: `unsupported` if no bus answers at `address`; `timedOut` if the bus does not answer in
        ///   time; `refused` if this process cannot start enough threads.
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
            case .none: throw CofferError(.timedOut, "The message bus at \(address) did not respond in time.")
            default: throw CofferError(.unsupported, "No message bus is responding at \(address).")
            }
        }

        /// Calls a method and returns its answer. The bus does not start a service for the call.
        ///
        /// - Parameters:
        ///   - destination: The service to call.
        ///   - path: The object's path.
        ///   - interface: The interface that declares the method.
        ///   - method: The method's name.
        ///   - arguments: The method's arguments.
        ///   - deadline: The time limit for the answer.
        /// - Returns: The answer; `nil` if the service refuses, does not exist or does not answer in time.
        package func call(
            _ destination: String, _ path: String, _ interface: String, _ method: String,
            _ arguments: [BusArgument] = [], deadline: Duration
        ) -> SignalArguments? {
            thread.call(destination, path, interface, method, arguments, deadline)
        }

        /// Calls a method that answers with a descriptor, and returns that descriptor; returns `nil` if the
        /// answer contains no descriptor.
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
    /// The listener in a build without the SecretService trait, which cannot listen to a bus.
    package final class BusListener: Sendable {
        private init() {}

        package static func start(
            address: String, rules: [BusRule], deadline: Duration,
            onSignal: @escaping @Sendable (BusSignal) -> Void, onEnd: @escaping @Sendable () -> Void
        ) throws(CofferError) -> BusListener {
            throw CofferError(.unsupported, "This build does not support D-Bus.")
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

    /// Returns whether a program on the bus owns `name`.
    package func isOwned(_ name: String, deadline: Duration) -> Bool {
        call(
            MessageBus.ownName, "/org/freedesktop/DBus", MessageBus.ownName, "NameHasOwner", [.text(name)],
            deadline: deadline)?.flag == true
    }
}
