public import CofferBase

/// Revocations from a closure, such as a request to a server or a queue that receives pushes.
public struct PollingRevocationSource: RevocationSource {
    private let body: @Sendable () async throws(CofferError) -> [Revocation]

    /// Creates a source that calls `body` at each poll.
    public init(_ body: @escaping @Sendable () async throws(CofferError) -> [Revocation]) {
        self.body = body
    }

    /// Returns the closure's result.
    public func poll() async throws(CofferError) -> [Revocation] { try await body() }
}
