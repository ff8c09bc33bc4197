package import CofferBase

/// A notice that a service receives from its bus.
package enum BusNotice: Sendable {
    /// A program calls a method.
    case call(ServedCall)
    /// A connection left the bus; the value is its unique name.
    case left(String)
    /// This connection no longer owns the name.
    case nameLost(String)
}

/// The limits on the calls that a service has not answered yet. Further calls are refused at once.
package enum ServingLimit {
    /// The number of calls.
    package static let calls = 1024
    /// The memory in bytes that all arguments together take.
    package static let bytes = 32 << 20
    /// The size in bytes of one call's arguments: room for the largest secret.
    package static let callBytes = 2 << 20
    /// The number of values in one call's arguments, each element of an array included.
    package static let callValues = 1 << 16
    /// About how many bytes of memory a value takes in addition to its content.
    package static let valueBytes = 128
    /// The size in bytes of one answer. A bus closes the connection of a program that sends more than it
    /// allows, which is at least this.
    package static let answerBytes = 32 << 20
}

/// The result of asking for a name on the bus.
package enum NameRequest: Sendable { case owned, taken }

#if SecretService
    import CGIO

    extension MessageBus {
        /// Begins to receive calls, for as long as the connection is open.
        ///
        /// - Parameters:
        ///   - deadline: The time limit for the bus's answer.
        ///   - receive: A closure that is called on GLib's thread for each notice. It must not block.
        /// - Throws: The error to which ``BusFailure`` maps the failure of asking for the departures of other
        ///   connections.
        package func serve(
            deadline: Duration, _ receive: @escaping @Sendable (BusNotice) -> Void
        ) throws(CofferError) {
            let room = ServingRoom(receive)
            _ = unsafe g_dbus_connection_add_filter(
                connection,
                { connection, message, incoming, room in
                    guard incoming != 0, let room = unsafe room, let message = unsafe message,
                        let connection = unsafe connection
                    else { return unsafe message }
                    return unsafe Unmanaged<ServingRoom>.fromOpaque(room).takeUnretainedValue()
                        .take(message, from: connection)
                }, Unmanaged.passRetained(room).toOpaque(),
                { room in
                    guard let room = unsafe room else { return }
                    unsafe Unmanaged<ServingRoom>.fromOpaque(room).release()
                })
            _ = try callBus(
                "AddMatch",
                [
                    .text(
                        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                            + "member='NameOwnerChanged',arg2=''")
                ], deadline: deadline)
        }

        /// Asks for a name.
        ///
        /// - Parameters:
        ///   - name: The name.
        ///   - isReplacing: Whether a present owner that allows it loses the name.
        ///   - deadline: The time limit for the bus's answer.
        /// - Returns: Whether this connection owns the name now. It never waits in the name's queue.
        /// - Throws: The error to which ``BusFailure`` maps the failure.
        package func request(
            _ name: String, replacing isReplacing: Bool, deadline: Duration
        ) throws(CofferError) -> NameRequest {
            // DBUS_NAME_FLAG_ALLOW_REPLACEMENT, _REPLACE_EXISTING and _DO_NOT_QUEUE.
            let flags: UInt32 = 1 | (isReplacing ? 2 : 0) | 4
            let result = try callBus("RequestName", [.text(name), .number(flags)], deadline: deadline)
            return result?.number == 1 || result?.number == 4 ? .owned : .taken
        }

        /// Sends a signal, to one connection if `destination` is given.
        package func emit(
            _ path: String, _ interface: String, _ member: String, _ values: [BusContent],
            to destination: String? = nil
        ) {
            guard let message = unsafe g_dbus_message_new_signal(path, interface, member) else { return }
            defer { unsafe g_object_unref(UnsafeMutableRawPointer(message)) }
            if let destination { unsafe g_dbus_message_set_destination(message, destination) }
            unsafe g_dbus_message_set_body(message, BusContent.tuple(values))
            _ = unsafe g_dbus_connection_send_message(
                connection, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, nil, nil)
        }

        /// Waits until everything that was sent has left this process, or until the deadline.
        package func flush(deadline: Duration) {
            guard let watchdog = CallWatchdog(deadline: deadline) else { return }
            defer { watchdog.stop() }
            _ = unsafe g_dbus_connection_flush_sync(connection, watchdog.cancellable, nil)
        }
    }
#else
    extension MessageBus {
        package func serve(
            deadline: Duration, _ receive: @escaping @Sendable (BusNotice) -> Void
        ) throws(CofferError) {
            throw CofferError(.unsupported, "This build does not support D-Bus.")
        }

        package func request(
            _ name: String, replacing isReplacing: Bool, deadline: Duration
        ) throws(CofferError) -> NameRequest {
            throw CofferError(.unsupported, "This build does not support D-Bus.")
        }

        package func emit(
            _ path: String, _ interface: String, _ member: String, _ values: [BusContent],
            to destination: String? = nil
        ) {}

        package func flush(deadline: Duration) {}
    }
#endif
