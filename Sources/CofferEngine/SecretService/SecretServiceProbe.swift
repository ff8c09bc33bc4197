#if SecretService
    import CSecretService
    import Dispatch
    import Synchronization
    import SystemPackage

    /// Asks whether a Secret Service (the desktop's keyring) is there, without starting one and without
    /// waiting long.
    package enum SecretServiceProbe {
        /// What the question found.
        package enum Answer: Sendable {
            /// A service answers on the session bus.
            case running
            /// There is a session bus and no service on it.
            case absent
            /// There is no session bus.
            case noBus
            /// The bus did not answer in time.
            case timedOut
        }

        private static let serviceName = "org.freedesktop.secrets"

        /// Asks the session bus; one that does not answer within `deadline` is `timedOut`.
        package static func ask(deadline: Duration = .seconds(2)) -> Answer {
            guard let address = busAddress else { return .noBus }
            guard let cancellable = unsafe g_cancellable_new() else { return .noBus }
            let watchdog = unsafe Watchdog(cancellable, deadline: deadline)
            defer { watchdog.stop() }
            let flags = GDBusConnectionFlags(
                rawValue: G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
                    | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
            let bus = unsafe g_dbus_connection_new_for_address_sync(address, flags, nil, cancellable, nil)
            guard let bus = unsafe bus else { return watchdog.hasFired ? .timedOut : .noBus }
            defer { unsafe g_object_unref(UnsafeMutableRawPointer(bus)) }
            let isOwned = unsafe hasOwner(bus, cancellable)
            guard !watchdog.hasFired else { return .timedOut }
            return isOwned ? .running : .absent
        }

        private static func hasOwner(_ bus: OpaquePointer, _ cancellable: UnsafeMutablePointer<GCancellable>)
            -> Bool
        {
            // The tuple takes over the floating reference of the name, and the call that of the tuple.
            var name: OpaquePointer? = unsafe g_variant_new_string(serviceName)
            let arguments = unsafe g_variant_new_tuple(&name, 1)
            let reply = unsafe g_dbus_connection_call_sync(
                bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner",
                arguments,
                nil, G_DBUS_CALL_FLAGS_NONE, -1, cancellable, nil)
            guard let reply = unsafe reply else { return false }
            defer { unsafe g_variant_unref(reply) }
            guard let value = unsafe g_variant_get_child_value(reply, 0) else { return false }
            defer { unsafe g_variant_unref(value) }
            return unsafe g_variant_get_boolean(value) != 0
        }

        /// From the environment, or the usual socket. GLib itself would start a bus of its own where there is
        /// none.
        private static var busAddress: String? {
            if let address = Environment.value("DBUS_SESSION_BUS_ADDRESS") { return address }
            guard let runtime = Environment.value("XDG_RUNTIME_DIR"), runtime.hasPrefix("/"),
                (try? Descriptor.open(FilePath(runtime), [.read, .directory]).status(of: "bus")) ?? nil != nil
            else { return nil }
            return "unix:path=\(runtime)/bus"
        }

        /// Cancels the call when the deadline is over.
        ///
        /// `@unchecked Sendable` holds because a GCancellable may be cancelled from any thread, and the
        /// reference is kept until the last owner is gone.
        @safe private final class Watchdog: @unchecked Sendable {
            private let cancellable: UnsafeMutablePointer<GCancellable>
            private let timer = DispatchSource.makeTimerSource()
            private let fired = Atomic(false)

            init(_ cancellable: UnsafeMutablePointer<GCancellable>, deadline: Duration) {
                unsafe self.cancellable = cancellable
                let parts = deadline.components
                timer.schedule(
                    deadline: .now() + .seconds(Int(parts.seconds))
                        + .nanoseconds(Int(parts.attoseconds / 1_000_000_000)))
                timer.setEventHandler { [self] in
                    fired.store(true, ordering: .relaxed)
                    unsafe g_cancellable_cancel(self.cancellable)
                }
                timer.activate()
            }

            var hasFired: Bool { fired.load(ordering: .relaxed) }

            func stop() { timer.cancel() }

            deinit { unsafe g_object_unref(cancellable) }
        }
    }
#endif
