package import CofferBase
import CofferEngine
import Dispatch
import Synchronization

/// An executor that runs blocking work on separate threads instead of the cooperative pool.
///
/// On Linux, `DispatchQueue.global()` uses that pool, which has one thread per processor and serves every
/// task. Blocking work there can block every task forever. A separate serial queue has its own thread. In a
/// program that creates its own threads, the work runs on the caller's thread if no other thread can be
/// started.
package enum BlockingExecutor {
    private static func start(_ work: @escaping @Sendable () -> Void) {
        guard Threads.areOwn else {
            return DispatchQueue(label: "coffer.blocking").async(execute: work)
        }
        if !Threads.begin(work) { work() }
    }

    /// A request to stop work because the task that waits for it was cancelled or a termination signal
    /// arrived. Long-running work checks for cancellation between steps.
    package final class Cancellation: Sendable {
        private let flag = Atomic(false)

        func cancel() { flag.store(true, ordering: .relaxed) }

        /// Whether the work was cancelled.
        package var isCancelled: Bool { flag.load(ordering: .relaxed) || TerminationSignals.isWorkCancelled }

        func check() throws(CofferError) {
            guard !isCancelled else {
                throw CofferError(.cancelled, "The operation was cancelled before completion.")
            }
        }
    }

    /// Runs `body` on a separate thread and waits until it returns, even after cancellation.
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
