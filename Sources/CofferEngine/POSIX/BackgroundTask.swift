import Dispatch

/// Tasks that run even while other tasks block every thread of the pool. A computation that takes minutes
/// therefore does not keep a vault from locking.
package enum BackgroundTask {
    /// Starts a task on a queue that only background tasks share. The task must either be short or sleep
    /// between short steps.
    package static func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task.detached(executorPreference: executor, operation: body)
    }

    /// Calls `step` now, and again after each delay that it returns, until it returns `nil`. Does not call
    /// `step` if no thread is available.
    package static func repeating(_ step: @escaping @Sendable () -> Duration?) {
        guard !Threads.areOwn else {
            _ = Threads.begin { while let pause = step() { Clock.sleep(for: pause) } }
            return
        }
        _ = start { while let pause = step() { try? await Task.sleep(for: pause, clock: .continuous) } }
    }

    private static let executor = Executor()

    private final class Executor: TaskExecutor {
        private let queue = DispatchQueue(label: "coffer.watch")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            // The queue runs each enqueued job once.
            queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}
