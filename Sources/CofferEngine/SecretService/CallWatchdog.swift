#if SecretService
    import CSecretService
    import Dispatch
    import Synchronization

    /// Cancels what GLib is waiting for when the deadline is over.
    ///
    /// `@unchecked Sendable` holds because a GCancellable may be cancelled from any thread, and the reference
    /// is kept until the last owner is gone.
    @safe final class CallWatchdog: @unchecked Sendable {
        let cancellable: UnsafeMutablePointer<GCancellable>
        private let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "coffer.deadline"))
        private let fired = Atomic(false)

        /// `nil` when there is no memory for it.
        init?(deadline: Duration) {
            guard let made = unsafe g_cancellable_new() else { return nil }
            unsafe cancellable = made
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

        /// The handler holds the watchdog until it is stopped.
        func stop() {
            timer.setEventHandler(handler: nil)
            timer.cancel()
        }

        deinit { unsafe g_object_unref(cancellable) }
    }
#endif
