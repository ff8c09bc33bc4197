import Dispatch

/// Tasks that run even when every thread of the program's other tasks is blocked: a program that computes for
/// minutes must not keep a vault from locking.
package enum BackgroundTask {
    /// Starts a task on a queue that only such tasks share; they are short, and sleep in between.
    package static func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task.detached(executorPreference: executor, operation: body)
    }

    /// Calls `step` now, and again after each delay that it returns, until it returns `nil`. When no thread
    /// is available, `step` is not called.
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
            // An enqueued job runs once, here.
            queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}
