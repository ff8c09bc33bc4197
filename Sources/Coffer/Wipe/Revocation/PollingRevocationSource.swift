public import CofferBase

/// Revocations that a closure knows of: a request to a server, a queue that something pushes to.
public struct PollingRevocationSource: RevocationSource {
    private let body: @Sendable () async throws(CofferError) -> [Revocation]

    /// A source that asks `body`.
    public init(_ body: @escaping @Sendable () async throws(CofferError) -> [Revocation]) {
        self.body = body
    }

    /// What the closure gives.
    public func poll() async throws(CofferError) -> [Revocation] { try await body() }
}
