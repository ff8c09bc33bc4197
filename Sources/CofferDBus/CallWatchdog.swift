#if SecretService
    import CGIO
    import Dispatch
    import Synchronization

    /// Cancels a GLib call when its deadline is over.
    ///
    /// `@unchecked Sendable` holds because a GCancellable may be cancelled from any thread, and the reference
    /// is kept until the last owner is released.
    @safe final class CallWatchdog: @unchecked Sendable {
        let cancellable: UnsafeMutablePointer<GCancellable>
        private let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "coffer.deadline"))
        private let fired = Atomic(false)

        /// `nil` when there is not enough memory.
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

        /// The handler keeps the watchdog alive until it is stopped.
        func stop() {
            timer.setEventHandler(handler: nil)
            timer.cancel()
        }

        deinit { unsafe g_object_unref(cancellable) }
    }
#endif
