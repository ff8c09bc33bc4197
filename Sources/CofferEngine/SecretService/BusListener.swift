package import CofferBase
import Dispatch
import Synchronization

#if SecretService
    import CSecretService

    /// Listens to signals on a message bus, on a thread of its own that ends with its last owner.
    ///
    /// The connection is its own: the shared one of GLib would end the process with the bus, and start a bus
    /// where there is none. It and its subscriptions belong to a context that this thread alone turns.
    package final class BusListener: Sendable {
        private let room: BusConnectionThread

        private init(_ room: BusConnectionThread) { self.room = room }

        deinit { room.leave() }

        /// Connects to the bus at `address` and listens.
        ///
        /// - Parameters:
        ///   - address: The bus.
        ///   - rules: What to listen to.
        ///   - deadline: How long to wait until it is certain that nothing is missed from then on.
        ///   - onSignal: Called on the listener's thread.
        ///   - onEnd: Called there once when the bus is gone, and not when the listener is.
        /// - Returns: The listener; when it goes, nothing is called any more but what has begun.
        /// - Throws: `unsupported` when nobody listens there; `timedOut`.
        package static func start(
            address: String, rules: [BusRule], deadline: Duration,
            onSignal: @escaping @Sendable (BusSignal) -> Void, onEnd: @escaping @Sendable () -> Void
        ) throws(CofferError) -> BusListener {
            try StartRoom.requireThreads()
            let room = BusConnectionThread(onSignal: onSignal, onEnd: onEnd)
            let listener = BusListener(room)
            DispatchQueue(label: "coffer.bus").async { room.live(address: address, rules: rules) }
            switch room.waitUntilListening(deadline) {
            case .listening: return listener
            case .none: throw CofferError(.timedOut, "The bus at \(address) did not answer in time.")
            default: throw CofferError(.unsupported, "Nobody answers at the bus address \(address).")
            }
        }

        /// Calls a method and gives what it answers; nothing is started for it.
        ///
        /// - Parameters:
        ///   - destination: Whom to ask.
        ///   - path: The object.
        ///   - interface: The interface.
        ///   - method: The method.
        ///   - arguments: Its arguments.
        ///   - deadline: How long to wait.
        /// - Returns: What it answers; `nil` when it refuses, is not there or does not answer in time.
        package func call(
            _ destination: String, _ path: String, _ interface: String, _ method: String,
            _ arguments: [BusArgument] = [], deadline: Duration
        ) -> SignalArguments? {
            room.call(destination, path, interface, method, arguments, deadline)
        }

        /// The same for a method that answers with a descriptor.
        package func descriptor(
            from destination: String, _ path: String, _ interface: String, _ method: String,
            _ arguments: [BusArgument], deadline: Duration
        ) -> Descriptor? {
            guard
                let number = room.requestDescriptor(destination, path, interface, method, arguments, deadline)
            else { return nil }
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
    /// Whether this build listens to a bus at all.
    package static var isBuilt: Bool {
        #if SecretService
            true
        #else
            false
        #endif
    }
}
