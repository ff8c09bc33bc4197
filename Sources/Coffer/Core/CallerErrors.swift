import CofferBase
import Synchronization

/// Passes an error of a caller's closure through code that throws only `CofferError`.
final class CallerErrors: Sendable {
    private let first = Mutex<(any Error)?>(nil)

    /// Runs a closure of the caller. Stores an error of another type for ``rethrowing(_:)`` and throws
    /// `cancelled` instead.
    func carrying<Result>(_ body: () throws -> Result) throws(CofferError) -> Result {
        do {
            return try body()
        } catch {
            throw keep(error)
        }
    }

    /// Runs an asynchronous closure of the caller in the same way.
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

    /// Runs work that calls closures of the caller, and throws the error that ended the work. An error of a
    /// closure is thrown unchanged, except that `cancelled` replaces a `CancellationError`.
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
