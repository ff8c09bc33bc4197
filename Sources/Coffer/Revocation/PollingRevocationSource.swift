public import CofferBase

/// A source that calls a closure, which may, for example, send a request to a server or read a queue that
/// receives pushes.
public struct PollingRevocationSource: RevocationSource {
    private let body: @Sendable () async throws(CofferError) -> [Revocation]

    /// Creates a source that calls `body` at each poll.
    ///
    /// - Parameter body: A closure that returns the revocations since the last call. It may throw errors of
    ///   any type: ``poll()`` rethrows a `CofferError`, and throws `cancelled` for a `CancellationError`. For
    ///   any other error, it throws `inputOutput` with only the name of the error's type, because the error's
    ///   text may contain secrets.
    public init<Failure: Error>(_ body: @escaping @Sendable () async throws(Failure) -> [Revocation]) {
        self.body = { () async throws(CofferError) in
            do {
                return try await body()
            } catch {
                throw Self.asCofferError(error)
            }
        }
    }

    private static func asCofferError(_ error: any Error) -> CofferError {
        switch error {
        case let error as CofferError: error
        case is CancellationError: CofferError(.cancelled, "Polling for revocations was cancelled.")
        default:
            CofferError(
                .inputOutput, "Polling for revocations failed with an error of type \(type(of: error)).")
        }
    }

    /// Calls the closure and returns its result.
    ///
    /// - Throws: The closure's error, converted to a `CofferError`.
    public func poll() async throws(CofferError) -> [Revocation] { try await body() }
}
