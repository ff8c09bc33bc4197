#if SecretService
    import CGIO
    import CofferEngine
    import Dispatch
    import Synchronization

    /// A thread that cancels a GLib call when its deadline passes.
    ///
    /// The thread is not one of libdispatch's, whose timers need two threads and an event queue.
    ///
    /// `@unchecked Sendable` holds because any thread may cancel a GCancellable, and the object is released
    /// with the last owner.
    @safe final class CallWatchdog: @unchecked Sendable {
        let cancellable: UnsafeMutablePointer<GCancellable>
        /// A semaphore that ``stop()`` signals. A semaphore needs no thread.
        private let stopped = DispatchSemaphore(value: 0)
        private let fired = Atomic(false)

        /// Creates a watchdog and starts its thread; returns `nil` if the GCancellable cannot be created, or
        /// if no thread is available.
        init?(deadline: Duration) {
            guard let created = unsafe g_cancellable_new() else { return nil }
            unsafe cancellable = created
            let parts = deadline.components
            let end =
                DispatchTime.now() + .seconds(Int(parts.seconds))
                + .nanoseconds(Int(parts.attoseconds / 1_000_000_000))
            guard Threads.begin({ [self] in wait(until: end) }) else { return nil }
        }

        private func wait(until end: DispatchTime) {
            guard stopped.wait(timeout: end) == .timedOut else { return }
            fired.store(true, ordering: .relaxed)
            unsafe g_cancellable_cancel(cancellable)
        }

        var hasFired: Bool { fired.load(ordering: .relaxed) }

        /// Ends the thread, which keeps the watchdog alive until then.
        func stop() { stopped.signal() }

        deinit { unsafe g_object_unref(cancellable) }
    }
#endif
