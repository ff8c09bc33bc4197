#if SecretService
    import CGIO

    /// A subscription to the signals that one call waits for, on a context that only the creating thread
    /// runs.
    ///
    /// GLib delivers a signal to the context that was the thread's default at the time of subscription, so
    /// all callbacks run in ``step()``, on the only thread that uses this object.
    @safe final class SignalWaiter {
        private(set) var values: [BusValue]?
        private(set) var isSenderGone = false
        private(set) var appeared = false
        private let connection: OpaquePointer
        private let sender: String
        private let context: OpaquePointer?
        private let ticks: UnsafeMutablePointer<GSource>?
        private var subscriptions: [CUnsignedInt] = []

        init(connection: OpaquePointer, sender: String) {
            unsafe self.connection = connection
            self.sender = sender
            unsafe context = g_main_context_new()
            unsafe g_main_context_push_thread_default(context)
            // The ticks wake the loop, so that the caller can check its deadline and whether the bus is
            // closed.
            unsafe ticks = g_timeout_source_new(50)
            unsafe g_source_set_callback(ticks, { _ in 1 }, nil, nil)
            unsafe g_source_attach(ticks, context)
        }

        /// Subscribes to an object's `signal`, and detects when the signal's sender leaves the bus.
        func subscribe(path: String, interface: String, signal: String) {
            unsafe subscribe(sender, interface, signal, path, nil) { _, _, _, _, _, values, wait in
                guard let wait = unsafe wait, let values = unsafe values else { return }
                unsafe Unmanaged<SignalWaiter>.fromOpaque(wait).takeUnretainedValue().values =
                    unsafe BusValue(BusContent.reading(values)).structure
            }
            unsafe subscribeToOwner(of: sender) { _, _, _, _, _, values, wait in
                guard let wait = unsafe wait, let values = unsafe values else { return }
                let change = unsafe BusValue(BusContent.reading(values)).structure ?? []
                if change.count == 3, change[2].text == "" {
                    unsafe Unmanaged<SignalWaiter>.fromOpaque(wait).takeUnretainedValue().isSenderGone = true
                }
            }
        }

        /// Subscribes to ownership changes of `name`, and sets ``appeared`` when a connection acquires the
        /// name.
        func watch(_ name: String) {
            unsafe subscribeToOwner(of: name) { _, _, _, _, _, values, wait in
                guard let wait = unsafe wait, let values = unsafe values else { return }
                let change = unsafe BusValue(BusContent.reading(values)).structure ?? []
                if change.count == 3, change[2].text != "" {
                    unsafe Unmanaged<SignalWaiter>.fromOpaque(wait).takeUnretainedValue().appeared = true
                }
            }
        }

        /// Delivers signals, after a wait of at most one tick of 50 milliseconds.
        func step() { _ = unsafe g_main_context_iteration(context, 1) }

        /// Stops delivery and releases the context.
        func end() {
            for subscription in subscriptions {
                unsafe g_dbus_connection_signal_unsubscribe(connection, subscription)
            }
            subscriptions = []
            unsafe g_source_destroy(ticks)
            unsafe g_source_unref(ticks)
            // Drop queued events, which refer to removed subscriptions.
            while unsafe g_main_context_iteration(context, 0) != 0 {}
            unsafe g_main_context_pop_thread_default(context)
            unsafe g_main_context_unref(context)
        }

        private func subscribeToOwner(of name: String, _ callback: GDBusSignalCallback) {
            unsafe subscribe(
                MessageBus.ownName, MessageBus.ownName, "NameOwnerChanged", "/org/freedesktop/DBus", name,
                callback)
        }

        /// Subscribes to a signal. The callback's reference to this object is unretained: GLib runs the
        /// callback only in ``step()``, while this object is alive.
        private func subscribe(
            _ sender: String, _ interface: String, _ signal: String, _ path: String, _ argument: String?,
            _ callback: GDBusSignalCallback
        ) {
            let subscription = unsafe g_dbus_connection_signal_subscribe(
                connection, sender, interface, signal, path, argument, G_DBUS_SIGNAL_FLAGS_NONE, callback,
                Unmanaged.passUnretained(self).toOpaque(), nil)
            subscriptions.append(subscription)
        }
    }
#endif
