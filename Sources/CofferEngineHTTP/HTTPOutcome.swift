package import CofferBase
package import CofferEngine

/// The bytes that a server sent, and how the exchange ended.
package struct HTTPOutcome: ~Copyable, Sendable {
    /// Every status line and field line in the order of arrival, each with its line end, including those of
    /// interim responses and of trailers.
    package let head: GuardedBytes
    /// The body, without the framing of a chunked transfer.
    package let body: GuardedBytes
    /// The reason why the exchange ended early; `nil` if the response is whole by its framing.
    package let failure: CofferError?

    init(head: consuming GuardedBytes, body: consuming GuardedBytes, failure: CofferError?) {
        self.head = head
        self.body = body
        self.failure = failure
    }

    /// Consumes the outcome and returns the body.
    package consuming func takeBody() -> GuardedBytes { body }
}
