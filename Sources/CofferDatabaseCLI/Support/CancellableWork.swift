import CofferBase
import CofferCommandLine
import CofferEngine

/// Work of the library that a signal stops between two steps.
enum CancellableWork {
    /// Runs `body`. A signal that asks the command to end stops the work and then ends the command, as the
    /// signal would have done.
    static func run<Result>(
        _ body: () async throws(CofferError) -> Result
    ) async throws(CofferError) -> Result {
        let signals = TerminationSignals.install(cancellingWork: true)
        let outcome: Swift.Result<Result, CofferError>
        do throws(CofferError) {
            outcome = .success(try await body())
        } catch {
            outcome = .failure(error)
        }
        let received = TerminationSignals.received
        signals.release()
        if case .failure(let error) = outcome, error.code == .cancelled, let received {
            Output.message("coffer: \(error.message)")
            TerminationSignals.end(by: received)
        }
        return try outcome.get()
    }
}
