import CofferBase
import Dispatch
import Synchronization

/// Runs work that blocks on a dispatch thread, never on the cooperative pool.
enum BlockingWork {
    /// Whether the task that waits for the work was cancelled; long work looks at it between steps.
    final class Cancellation: Sendable {
        private let flag = Atomic(false)

        func cancel() { flag.store(true, ordering: .relaxed) }

        func check() throws(CofferError) {
            guard !flag.load(ordering: .relaxed) else {
                throw CofferError(.cancelled, "Cancelled; nothing was left behind.")
            }
        }
    }

    static func run<Result: Sendable>(
        _ body: @escaping @Sendable (Cancellation) throws(CofferError) -> Result
    ) async throws(CofferError) -> Result {
        let cancellation = Cancellation()
        let result: Swift.Result<Result, CofferError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
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
