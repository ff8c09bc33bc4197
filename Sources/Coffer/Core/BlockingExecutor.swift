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

    /// The work of one call, which is done once.
    private final class Work<Result: Sendable>: Sendable {
        private final class Body: Sendable {
            let run: @Sendable (Cancellation) throws(CofferError) -> Result

            init(_ run: @escaping @Sendable (Cancellation) throws(CofferError) -> Result) { self.run = run }
        }

        private let body: Mutex<Body?>

        init(_ run: @escaping @Sendable (Cancellation) throws(CofferError) -> Result) {
            body = Mutex(Body(run))
        }

        /// Does the work. Afterwards its thread holds nothing that the work captured, such as a secret: the
        /// thread can outlive the caller, even up to the end of the process, where nothing is cleared.
        func run(_ cancellation: Cancellation) -> Swift.Result<Result, CofferError> {
            let once = body.withLock { held -> Body? in
                let body = held
                held = nil
                return body
            }
            guard let work = once else {
                return .failure(CofferError(.internalFailure, "The same work was started twice."))
            }
            do throws(CofferError) {
                return .success(try work.run(cancellation))
            } catch {
                return .failure(error)
            }
        }
    }

    /// Runs `body` on a separate thread and waits until it returns, even after cancellation.
    package static func run<Result: Sendable>(
        _ body: @escaping @Sendable (Cancellation) throws(CofferError) -> Result
    ) async throws(CofferError) -> Result {
        let cancellation = Cancellation()
        let work = Work(body)
        let result: Swift.Result<Result, CofferError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                start { continuation.resume(returning: work.run(cancellation)) }
            }
        } onCancel: {
            cancellation.cancel()
        }
        return try result.get()
    }
}
