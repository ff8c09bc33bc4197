import Dispatch
import Glibc
import Synchronization

/// An executor that runs a program's tasks on its main thread.
///
/// The pool that would otherwise run the tasks, which is libdispatch's on Linux, waits forever if it cannot
/// create a thread and ends the process if it cannot find its own threads in /proc.
package final class MainExecutor: TaskExecutor {
    private static let running = Mutex<MainExecutor?>(nil)

    private let jobs = Mutex<[UnownedJob]>([])
    /// A semaphore that counts the waiting jobs. A semaphore needs no thread.
    private let waiting = DispatchSemaphore(value: 0)

    private init() {}

    /// The executor for tasks that have no other executor, or `nil` for the default pool.
    package static var current: (any TaskExecutor)? { running.withLock { $0 } }

    /// Runs `body` on the calling thread, which must be the main thread, until `body` ends the process.
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
