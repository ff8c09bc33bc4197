import CofferBase
import Synchronization

/// Carries an error of a caller's closure past code that throws `CofferError` only.
final class CallerErrors: Sendable {
    private let first = Mutex<(any Error)?>(nil)

    /// Runs a closure of the caller. An error of another type is kept, and ends the work like a cancellation.
    func carrying<Result>(_ body: () throws -> Result) throws(CofferError) -> Result {
        do {
            return try body()
        } catch {
            throw keep(error)
        }
    }

    /// As ``carrying(_:)``, for a closure that suspends.
    func carrying<Result>(_ body: () async throws -> Result) async throws(CofferError) -> Result {
        do {
            return try await body()
        } catch {
            throw keep(error)
        }
    }

    private func keep(_ error: any Error) -> CofferError {
        if let error = error as? CofferError { return error }
        first.withLock { $0 = $0 ?? error }
        return CofferError(.cancelled, "The caller's closure ended the work.")
    }

    /// Runs the work in which closures of the caller run, and throws the error that ended it: that of a
    /// closure as it is, except for a `CancellationError`, which is `cancelled`.
    func rethrowing<Result>(
        _ work: () async throws(CofferError) -> Result
    ) async throws -> Result {
        do throws(CofferError) {
            return try await work()
        } catch {
            guard error.code == .cancelled, let own = first.withLock({ $0 }), !(own is CancellationError)
            else { throw error }
            throw own
        }
    }
}
