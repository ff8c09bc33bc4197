package import CofferBase
import CofferEngine
import SystemPackage

#if SecretService
    import CGIO

    /// This package's connection to a message bus.
    ///
    /// This is not GLib's shared connection, which ends the process when the bus ends, obtains its address
    /// only from the environment and starts a bus if there is none. Calls block and may be made from any
    /// thread: GLib's own thread reads the socket, and each call waits on its own context, so neither a main
    /// loop nor another call can delay a call beyond its deadline.
    ///
    /// `@unchecked Sendable` holds because any thread may use a GDBusConnection, and the object is released
    /// with the last owner.
    @safe package final class MessageBus: @unchecked Sendable {
        let connection: OpaquePointer

        private init(_ connection: OpaquePointer) { unsafe self.connection = connection }

        deinit { unsafe g_object_unref(UnsafeMutableRawPointer(connection)) }

        /// Connects to the bus at `address`.
        ///
        /// - Parameters:
        ///   - address: The bus address.
        ///   - deadline: The time limit for connecting.
        /// - Returns: The connection.
        /// - Throws: `noSessionBus` if no bus listens at `address`; `timedOut` if the bus does not answer in
        ///   time; `keyringUnavailable` if this process cannot start the threads that a connection needs.
        package static func connect(_ address: String, deadline: Duration) throws(CofferError) -> MessageBus {
            do throws(CofferError) {
                try StartRoom.requireThreads(forBus: true)
            } catch {
                throw CofferError(
                    .keyringUnavailable, "The session bus cannot be used. \(error.message)",
                    remedy: error.remedy, systemError: error.systemError)
            }
            guard let watchdog = CallWatchdog(deadline: deadline) else { throw BusFailure.timedOut }
            defer { watchdog.stop() }
            let flags = GDBusConnectionFlags(
                rawValue: G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
                    | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
            let created = unsafe g_dbus_connection_new_for_address_sync(
                address, flags, nil, watchdog.cancellable, nil)
            guard let created = unsafe created else {
                guard !watchdog.hasFired else { throw BusFailure.timedOut }
                throw CofferError(
                    .noSessionBus,
                    "No session bus is available: nothing is listening at the configured address.")
            }
            return unsafe MessageBus(created)
        }

        /// Whether the connection is closed.
        package var isClosed: Bool { unsafe g_dbus_connection_is_closed(connection) != 0 }

        /// Calls a method and returns its answer.
        ///
        /// - Parameters:
        ///   - member: The method.
        ///   - arguments: The method's arguments.
        ///   - deadline: The time limit for the answer.
        ///   - starting: Whether the bus may start the service for the call.
        /// - Returns: The values in the answer.
        /// - Throws: The error to which ``BusFailure`` maps the failure, such as `timedOut`.
        package func call(
            _ member: BusMember, _ arguments: [BusValue] = [], deadline: Duration, starting: Bool = false
        ) throws(CofferError) -> [BusValue] {
            guard deadline > .zero else { throw BusFailure.timedOut }
            var error: UnsafeMutablePointer<GError>?
            let reply = unsafe g_dbus_connection_call_sync(
                connection, member.destination, member.path, member.interface, member.name,
                BusContent.tuple(arguments.map(\.content)), nil,
                starting ? G_DBUS_CALL_FLAGS_NONE : G_DBUS_CALL_FLAGS_NO_AUTO_START, deadline.milliseconds,
                nil, &error)
            guard let reply = unsafe reply else { throw unsafe BusFailure.taking(error, member.name) }
            defer { unsafe g_variant_unref(reply) }
            return unsafe BusValue(BusContent.reading(reply)).structure ?? []
        }

        /// Subscribes to an object's signal, calls one of the object's methods and waits for the signal.
        ///
        /// - Parameters:
        ///   - member: The method.
        ///   - arguments: The method's arguments.
        ///   - signal: The signal's name.
        ///   - watched: A name on the bus to watch during the wait.
        ///   - deadline: The time limit for the signal.
        /// - Returns: The signal's values, and whether the watched name acquired an owner during the wait.
        /// - Throws: `timedOut` if the signal does not arrive in time; `interrupted` if the service or the
        ///   bus ends.
        package func call(
            _ member: BusMember, _ arguments: [BusValue], awaiting signal: String, watching watched: String,
            deadline: Duration
        ) throws(CofferError) -> (values: [BusValue], appeared: Bool) {
            let end = Clock.sinceBoot + deadline
            let wait = unsafe SignalWaiter(connection: connection, sender: member.destination)
            defer { wait.end() }
            wait.subscribe(path: member.path, interface: member.interface, signal: signal)
            wait.watch(watched)
            _ = try call(member, arguments, deadline: deadline)
            while true {
                if let values = wait.values { return (values, wait.appeared) }
                guard !wait.isSenderGone, !isClosed else { throw BusFailure.interrupted }
                guard Clock.sinceBoot < end else { throw BusFailure.timedOut }
                wait.step()
            }
        }
    }

    extension Duration {
        /// The duration in milliseconds for GLib's calls. The value is at least 1, because zero and negative
        /// values have a special meaning in GLib.
        fileprivate var milliseconds: CInt {
            let parts = components
            return CInt(clamping: max(1, parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000))
        }
    }
#else
    /// The connection in a build without the SecretService trait, which cannot connect to a bus.
    package final class MessageBus: Sendable {
        private init() {}

        package static func connect(_ address: String, deadline: Duration) throws(CofferError) -> MessageBus {
            throw CofferError(.noSecretService, "This build does not support the Secret Service.")
        }

        package var isClosed: Bool { true }

        package func call(
            _ member: BusMember, _ arguments: [BusValue] = [], deadline: Duration, starting: Bool = false
        ) throws(CofferError) -> [BusValue] {
            throw CofferError(.noSecretService, "This build does not support the Secret Service.")
        }

        package func call(
            _ member: BusMember, _ arguments: [BusValue], awaiting signal: String, watching watched: String,
            deadline: Duration
        ) throws(CofferError) -> (values: [BusValue], appeared: Bool) {
            throw CofferError(.noSecretService, "This build does not support the Secret Service.")
        }
    }
#endif

extension MessageBus {
    /// The name under which the bus itself receives calls.
    package static let ownName = "org.freedesktop.DBus"

    /// The session bus address: the address in the environment or, if there is none, that of the `bus` socket
    /// in the runtime directory; `nil` if neither exists.
    package static var sessionAddress: String? {
        if let address = Environment.value("DBUS_SESSION_BUS_ADDRESS") { return address }
        guard let runtime = Environment.value("XDG_RUNTIME_DIR"), runtime.utf8.hasPrefix("/"),
            (try? Descriptor.open(FilePath(runtime), [.read, .directory]).status(of: "bus")) ?? nil != nil
        else { return nil }
        return "unix:path=\(runtime)/bus"
    }

    /// Calls one of the bus's own methods, and returns the first value of the answer.
    package func callBus(
        _ method: String, _ arguments: [BusValue], deadline: Duration
    ) throws(CofferError) -> BusValue? {
        try call(
            BusMember(Self.ownName, "/org/freedesktop/DBus", Self.ownName, method), arguments,
            deadline: deadline
        ).first
    }
}
