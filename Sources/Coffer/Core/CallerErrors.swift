import CofferBase
import Synchronization

/// A carrier that passes an error from a caller's closure through code that throws only `CofferError`.
final class CallerErrors: Sendable {
    private let first = Mutex<(any Error)?>(nil)

    /// Runs the caller's closure. If the closure throws anything other than a `CofferError`, stores that
    /// error for ``rethrowing(_:)`` and throws `cancelled` instead.
    func carrying<Result>(_ body: () throws -> Result) throws(CofferError) -> Result {
        do {
            return try body()
        } catch {
            throw keep(error)
        }
    }

    /// Runs the caller's asynchronous closure, and handles its errors as the synchronous overload does.
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
        return CofferError(.cancelled, "The caller's closure threw an error.")
    }

    /// Runs work that calls the caller's closures, and throws the error that ended the work. Throws a
    /// closure's error unchanged, except that `cancelled` replaces a `CancellationError`.
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
