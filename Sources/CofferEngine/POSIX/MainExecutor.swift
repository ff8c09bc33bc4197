import Dispatch
import Glibc
import Synchronization

/// Runs the tasks of a program on its main thread.
///
/// The pool that would otherwise run the tasks, which is libdispatch's on Linux, waits forever if it cannot
/// create a thread, and ends the process if it does not find its own threads in /proc.
package final class MainExecutor: TaskExecutor {
    private static let running = Mutex<MainExecutor?>(nil)

    private let jobs = Mutex<[UnownedJob]>([])
    /// Counts the waiting jobs; a semaphore needs no thread.
    private let waiting = DispatchSemaphore(value: 0)

    private init() {}

    /// The executor for tasks without another one; `nil` means the default pool.
    package static var current: (any TaskExecutor)? { running.withLock { $0 } }

    /// Runs `body` on this thread, which must be the main one, until it ends the process.
    package static func run(_ body: @escaping @Sendable () async -> Never) -> Never {
        let executor = MainExecutor()
        running.withLock { $0 = executor }
        Task(executorPreference: executor) { await body() }
        while true {
            executor.waiting.wait()
            let job = executor.jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            unsafe job?.runSynchronously(on: executor.asUnownedTaskExecutor())
        }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        waiting.signal()
    }
}
