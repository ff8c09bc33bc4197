#if SecretService
    import CGIO
    import Dispatch
    import Synchronization

    /// A timer that cancels a GLib call when its deadline passes.
    ///
    /// `@unchecked Sendable` holds because any thread may cancel a GCancellable, and the object is released
    /// with the last owner.
    @safe final class CallWatchdog: @unchecked Sendable {
        let cancellable: UnsafeMutablePointer<GCancellable>
        private let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "coffer.deadline"))
        private let fired = Atomic(false)

        /// Creates a watchdog and starts its timer; returns `nil` if the GCancellable cannot be created.
        init?(deadline: Duration) {
            guard let created = unsafe g_cancellable_new() else { return nil }
            unsafe cancellable = created
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

        /// Stops the timer. Until then, its handler keeps the watchdog alive.
        func stop() {
            timer.setEventHandler(handler: nil)
            timer.cancel()
        }

        deinit { unsafe g_object_unref(cancellable) }
    }
#endif
