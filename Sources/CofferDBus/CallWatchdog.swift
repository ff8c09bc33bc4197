#if SecretService
    import CGIO
    import CofferEngine
    import Synchronization

    /// A thread that cancels a GLib call when its deadline passes.
    ///
    /// The thread is not one of libdispatch's, whose timers need two threads and an event queue.
    ///
    /// `@unchecked Sendable` holds because any thread may cancel a GCancellable, and the object is released
    /// with the last owner.
    @safe final class CallWatchdog: @unchecked Sendable {
        let cancellable: UnsafeMutablePointer<GCancellable>
        /// Set by ``stop()``.
        private let stopped = AwaitedResult<Void>()
        private let fired = Atomic(false)

        /// Creates a watchdog and starts its thread; returns `nil` if the GCancellable cannot be created, or
        /// if no thread is available.
        init?(deadline: Duration) {
            guard let created = unsafe g_cancellable_new() else { return nil }
            unsafe cancellable = created
            guard Threads.begin({ [self] in wait(deadline) }) else { return nil }
        }

        private func wait(_ deadline: Duration) {
            guard stopped.wait(deadline) == nil else { return }
            fired.store(true, ordering: .relaxed)
            unsafe g_cancellable_cancel(cancellable)
        }

        var hasFired: Bool { fired.load(ordering: .relaxed) }

        /// Ends the thread, which keeps the watchdog alive until then.
        func stop() { stopped.set(()) }

        deinit { unsafe g_object_unref(cancellable) }
    }
#endif
