import Dispatch

/// Tasks that run even when every thread of the program's other tasks is blocked: a program that computes for
/// minutes must not keep a vault from locking.
package enum BackgroundTask {
    /// Starts a task on a queue that only such tasks share; they are short, and sleep between.
    package static func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task.detached(executorPreference: executor, operation: body)
    }

    /// Calls `step` now, and again after as long as it says, until it says `nil`. Where no thread can be had
    /// for that, nothing is called.
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
            // A job that was enqueued runs once, here.
            queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}
