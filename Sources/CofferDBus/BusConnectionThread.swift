#if SecretService
    import CGIO
    import Dispatch
    import Synchronization

    /// A listener's thread, with its context and its connection.
    ///
    /// `@unchecked Sendable` holds because each pointer is written once, before any caller learns that the
    /// thread is listening; any thread may wake a context, cancel a GCancellable and use a GDBusConnection;
    /// and the objects are released with the last owner.
    @safe final class BusConnectionThread: @unchecked Sendable {
        enum Phase: Sendable { case opening, listening, refused, ended }

        private struct State {
            var phase = Phase.opening
            var hasLeft = false
        }

        private let state = Mutex(State())
        private let opened = DispatchSemaphore(value: 0)
        private let onSignal: @Sendable (BusSignal) -> Void
        private let onEnd: @Sendable () -> Void
        private let context: OpaquePointer?
        private let cancellable: UnsafeMutablePointer<GCancellable>?
        private var connection: OpaquePointer?

        init(onSignal: @escaping @Sendable (BusSignal) -> Void, onEnd: @escaping @Sendable () -> Void) {
            self.onSignal = onSignal
            self.onEnd = onEnd
            unsafe context = g_main_context_new()
            unsafe cancellable = g_cancellable_new()
        }

        deinit {
            if let connection = unsafe connection {
                unsafe g_object_unref(UnsafeMutableRawPointer(connection))
            }
            unsafe g_object_unref(cancellable)
            unsafe g_main_context_unref(context)
        }

        /// Returns the phase that the thread reaches within the deadline. If the thread is still connecting
        /// at the deadline, tells the thread to end and returns `nil`.
        func waitUntilListening(_ deadline: Duration) -> Phase? {
            let parts = deadline.components
            let time =
                DispatchTime.now() + .seconds(Int(parts.seconds))
                + .nanoseconds(Int(parts.attoseconds / 1_000_000_000))
            guard opened.wait(timeout: time) == .success else {
                leave()
                return nil
            }
            return state.withLock { $0.phase }
        }

        /// Tells the thread to end soon.
        func leave() {
            state.withLock { $0.hasLeft = true }
            unsafe g_cancellable_cancel(cancellable)
            // The thread checks after each step whether it has to end.
            unsafe g_main_context_wakeup(context)
        }

        private var hasLeft: Bool { state.withLock { $0.hasLeft } }

        /// Runs the thread's body: connects, listens until the listener or the connection ends, and cleans
        /// up.
        func live(address: String, rules: [BusRule]) {
            unsafe g_main_context_push_thread_default(context)
            defer { unsafe g_main_context_pop_thread_default(context) }
            guard connect(address) else {
                state.withLock { $0.phase = .refused }
                opened.signal()
                return
            }
            let subscriptions = rules.map(subscribe)
            // The bus answers this call after it has processed every rule: from here on, no signal is missed.
            let isHeard =
                call(
                    "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId", [],
                    .seconds(25)) != nil
            state.withLock { $0.phase = isHeard ? .listening : .refused }
            opened.signal()
            // The end of the connection also wakes this context.
            while isHeard, !hasLeft, unsafe g_dbus_connection_is_closed(connection) == 0 {
                _ = unsafe g_main_context_iteration(context, 1)
            }
            for subscription in subscriptions {
                unsafe g_dbus_connection_signal_unsubscribe(connection, subscription)
            }
            // Drop queued events, which refer to removed subscriptions.
            while unsafe g_main_context_iteration(context, 0) != 0 {}
            unsafe g_dbus_connection_close(connection, nil, nil, nil)
            let isLost = state.withLock { state in
                defer { state.phase = .ended }
                return isHeard && !state.hasLeft
            }
            if isLost { onEnd() }
        }

        private func connect(_ address: String) -> Bool {
            let flags = GDBusConnectionFlags(
                rawValue: G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
                    | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
            let created = unsafe g_dbus_connection_new_for_address_sync(address, flags, nil, cancellable, nil)
            guard let created = unsafe created else { return false }
            unsafe connection = created
            return true
        }

        /// Subscribes to the signals that match `rule`. The callback's reference to this object is
        /// unretained: GLib runs the callback only on this thread, in ``live(address:rules:)``.
        private func subscribe(_ rule: BusRule) -> CUnsignedInt {
            unsafe g_dbus_connection_signal_subscribe(
                connection, rule.sender, rule.interface, rule.name, rule.path, rule.firstArgument,
                G_DBUS_SIGNAL_FLAGS_NONE,
                { _, _, path, interface, name, arguments, room in
                    guard let room = unsafe room, let arguments = unsafe arguments,
                        let path = unsafe path, let interface = unsafe interface, let name = unsafe name
                    else { return }
                    let signal = unsafe BusSignal(
                        path: String(cString: path), interface: String(cString: interface),
                        name: String(cString: name), content: SignalArguments.reading(arguments))
                    let listening = unsafe Unmanaged<BusConnectionThread>.fromOpaque(room)
                        .takeUnretainedValue()
                    if !listening.hasLeft { listening.onSignal(signal) }
                }, Unmanaged.passUnretained(self).toOpaque(), nil)
        }

        func call(
            _ destination: String, _ path: String, _ interface: String, _ method: String,
            _ arguments: [BusArgument], _ deadline: Duration
        ) -> SignalArguments? {
            let reply = unsafe g_dbus_connection_call_sync(
                connection, destination, path, interface, method, Self.tuple(arguments), nil,
                G_DBUS_CALL_FLAGS_NO_AUTO_START, Self.milliseconds(deadline), cancellable, nil)
            guard let reply = unsafe reply else { return nil }
            defer { unsafe g_variant_unref(reply) }
            return unsafe SignalArguments.reading(reply)
        }

        /// Calls a method and returns the descriptor in its answer, which the caller must close.
        func requestDescriptor(
            _ destination: String, _ path: String, _ interface: String, _ method: String,
            _ arguments: [BusArgument], _ deadline: Duration
        ) -> Int32? {
            var list: UnsafeMutablePointer<GUnixFDList>?
            let reply = unsafe g_dbus_connection_call_with_unix_fd_list_sync(
                connection, destination, path, interface, method, Self.tuple(arguments), nil,
                G_DBUS_CALL_FLAGS_NO_AUTO_START, Self.milliseconds(deadline), nil, &list, cancellable, nil)
            guard let reply = unsafe reply else { return nil }
            unsafe g_variant_unref(reply)
            guard let list = unsafe list else { return nil }
            defer { unsafe g_object_unref(list) }
            guard unsafe g_unix_fd_list_get_length(list) > 0 else { return nil }
            let number = unsafe g_unix_fd_list_get(list, 0, nil)
            return number >= 0 ? number : nil
        }

        /// Returns the arguments as a floating tuple. The call takes ownership of the tuple, and the tuple
        /// takes ownership of its parts.
        private static func tuple(_ arguments: [BusArgument]) -> OpaquePointer? {
            var parts: [OpaquePointer?] = unsafe arguments.map { argument in
                switch argument {
                case .text(let text): unsafe g_variant_new_string(text)
                case .number(let number): unsafe g_variant_new_uint32(number)
                }
            }
            return unsafe g_variant_new_tuple(&parts, gsize(parts.count))
        }

        /// Returns a deadline in milliseconds for GLib's calls. The result is at least 1, because zero and
        /// negative values have a special meaning in GLib.
        private static func milliseconds(_ deadline: Duration) -> CInt {
            let parts = deadline.components
            return CInt(clamping: max(1, parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000))
        }
    }
#endif
