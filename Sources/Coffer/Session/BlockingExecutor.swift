package import CofferBase
import CofferEngine
import Dispatch
import Synchronization

/// Runs work that blocks on threads of its own, never on the cooperative pool.
///
/// On Linux, `DispatchQueue.global()` is that pool: as many threads as processors, shared with every task.
/// Work that blocks there can leave tasks without a thread for good. A serial queue of its own gets a thread
/// of its own. A program that makes its threads itself has the work done on the caller's where there is no
/// other.
package enum BlockingExecutor {
    private static func start(_ work: @escaping @Sendable () -> Void) {
        guard Threads.areOwn else {
            return DispatchQueue(label: "coffer.blocking").async(execute: work)
        }
        if !Threads.begin(work) { work() }
    }

    /// Whether the task that waits for the work was cancelled, or a signal asks this process to give it up;
    /// long work looks at it between steps.
    package final class Cancellation: Sendable {
        private let flag = Atomic(false)

        func cancel() { flag.store(true, ordering: .relaxed) }

        /// Whether it was.
        package var isCancelled: Bool { flag.load(ordering: .relaxed) || TerminationSignals.isWorkCancelled }

        func check() throws(CofferError) {
            guard !isCancelled else {
                throw CofferError(.cancelled, "Cancelled; nothing was left behind.")
            }
        }
    }

    /// Runs `body` on a thread of its own and waits for it, cancelled or not.
    package static func run<Result: Sendable>(
        _ body: @escaping @Sendable (Cancellation) throws(CofferError) -> Result
    ) async throws(CofferError) -> Result {
        let cancellation = Cancellation()
        let result: Swift.Result<Result, CofferError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                start {
                    do throws(CofferError) {
                        continuation.resume(returning: .success(try body(cancellation)))
                    } catch {
                        continuation.resume(returning: .failure(error))
                    }
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
        return try result.get()
    }
}
