#if SecretService
    import CGIO
    import Synchronization

    /// A connection's filter for incoming messages, which turns method calls and the bus's own signals into
    /// notices. GLib calls it on its own thread, one message at a time.
    final class ServingRoom: Sendable {
        private let receive: @Sendable (BusNotice) -> Void
        private let load = Load()

        init(_ receive: @escaping @Sendable (BusNotice) -> Void) { self.receive = receive }

        /// The calls that are not answered yet.
        private final class Load: Sendable {
            private let calls = Atomic(0)
            private let bytes = Atomic(0)

            /// Adds a call; returns `false` if that would exceed a limit.
            func add(_ size: Int) -> Bool {
                let count = calls.wrappingAdd(1, ordering: .relaxed).newValue
                let total = bytes.wrappingAdd(size, ordering: .relaxed).newValue
                guard count <= ServingLimit.calls, total <= ServingLimit.bytes else {
                    remove(size)
                    return false
                }
                return true
            }

            func remove(_ size: Int) {
                calls.wrappingSubtract(1, ordering: .relaxed)
                bytes.wrappingSubtract(size, ordering: .relaxed)
            }
        }

        /// Takes a message: a method call ends here, everything else goes on to GLib.
        func take(_ message: OpaquePointer, from connection: OpaquePointer) -> OpaquePointer? {
            let type = unsafe g_dbus_message_get_message_type(message)
            if type == G_DBUS_MESSAGE_TYPE_SIGNAL {
                unsafe notice(message)
                return unsafe message
            }
            guard type == G_DBUS_MESSAGE_TYPE_METHOD_CALL else { return unsafe message }
            unsafe receiveCall(HeldMessage(message, connection))
            return nil
        }

        private func receiveCall(_ held: HeldMessage) {
            // No method takes a descriptor, and those of waiting calls would use up this process's limit.
            guard !held.hasDescriptors else {
                held.send(
                    .error(
                        name: "org.freedesktop.DBus.Error.InvalidArgs",
                        text: "The service takes no file descriptors. Send the call without any."))
                return
            }
            guard let (arguments, size) = held.arguments(), load.add(size) else {
                held.send(
                    .error(
                        name: "org.freedesktop.DBus.Error.LimitsExceeded",
                        text: "The service has too many calls to answer, or the call is too large."))
                return
            }
            let load = load
            receive(.call(held.call(arguments) { load.remove(size) }))
        }

        private func notice(_ message: OpaquePointer) {
            guard unsafe text(g_dbus_message_get_sender(message)) == MessageBus.ownName,
                let body = unsafe g_dbus_message_get_body(message)
            else { return }
            let values = unsafe BusContent.reading(body).fields ?? []
            switch unsafe text(g_dbus_message_get_member(message)) {
            case "NameOwnerChanged":
                guard values.count == 3, let name = values[0].text, let owner = values[2].text,
                    owner.isEmpty
                else { return }
                receive(.left(name))
            case "NameLost":
                if let name = values.first?.text { receive(.nameLost(name)) }
            default: break
            }
        }
    }

    private func text(_ characters: UnsafePointer<CChar>?) -> String {
        unsafe characters.map { unsafe String(cString: $0) } ?? ""
    }

    /// A received call and its connection, both owned.
    ///
    /// `@unchecked Sendable` holds because the message is not changed after it was received, any thread may
    /// use a GDBusConnection, and both are released with the last owner.
    @safe private final class HeldMessage: @unchecked Sendable {
        private let message: OpaquePointer
        private let connection: OpaquePointer

        /// Takes ownership of `message`.
        init(_ message: OpaquePointer, _ connection: OpaquePointer) {
            unsafe self.message = message
            unsafe self.connection = connection
            _ = unsafe g_object_ref(UnsafeMutableRawPointer(connection))
        }

        deinit {
            unsafe g_object_unref(UnsafeMutableRawPointer(message))
            unsafe g_object_unref(UnsafeMutableRawPointer(connection))
        }

        /// Whether file descriptors came with the message, even if no argument refers to them. They are
        /// closed with the message.
        var hasDescriptors: Bool { unsafe g_dbus_message_get_unix_fd_list(message) != nil }

        /// Returns the arguments and about how much memory they take in bytes; `nil` if they are too large.
        func arguments() -> (values: [BusContent], size: Int)? {
            guard let body = unsafe g_dbus_message_get_body(message) else { return ([], 0) }
            let size = unsafe Int(g_variant_get_size(body))
            guard size <= ServingLimit.callBytes else { return nil }
            var room = ServingLimit.callValues
            let values = unsafe BusContent.reading(body, room: &room).fields ?? []
            guard room >= 0 else { return nil }
            return (values, size + (ServingLimit.callValues - room) * ServingLimit.valueBytes)
        }

        /// Returns the call with its arguments, without a reference to GLib's.
        func call(_ arguments: [BusContent], onRelease: @escaping @Sendable () -> Void) -> ServedCall {
            unsafe ServedCall(
                sender: text(g_dbus_message_get_sender(message)),
                path: text(g_dbus_message_get_path(message)),
                interface: text(g_dbus_message_get_interface(message)),
                member: text(g_dbus_message_get_member(message)), arguments: arguments,
                onRelease: onRelease, reply: { self.send($0) })
        }

        /// Sends an answer, if the caller waits for one.
        func send(_ answer: ServedCall.Answer) {
            guard
                unsafe g_dbus_message_get_flags(message).rawValue
                    & G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED.rawValue == 0
            else { return }
            switch answer {
            case .values(let values):
                guard let reply = unsafe g_dbus_message_new_method_reply(message) else { return }
                let body = unsafe BusContent.tuple(values)
                unsafe g_dbus_message_set_body(reply, body)
                if let body = unsafe body, unsafe g_variant_get_size(body) > ServingLimit.answerBytes {
                    unsafe g_object_unref(UnsafeMutableRawPointer(reply))
                    return send(
                        .error(
                            name: "org.freedesktop.DBus.Error.LimitsExceeded",
                            text: "The answer would be too large. Ask for fewer items."))
                }
                unsafe post(reply)
            case .error(let name, let text):
                guard
                    let reply = unsafe g_dbus_message_new_method_error_literal(message, name, text)
                else { return }
                unsafe post(reply)
            }
        }

        private func post(_ reply: OpaquePointer) {
            _ = unsafe g_dbus_connection_send_message(
                connection, reply, G_DBUS_SEND_MESSAGE_FLAGS_NONE, nil, nil)
            unsafe g_object_unref(UnsafeMutableRawPointer(reply))
        }
    }
#endif
