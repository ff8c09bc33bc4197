package import CofferBase
package import CofferEngine

/// The bytes that a server sent, and how the exchange ended.
package struct HTTPOutcome: ~Copyable, Sendable {
    /// Every status line and field line in the order of arrival, each with its line end, including those of
    /// interim responses and of trailers.
    package let head: GuardedBytes
    /// The body, without the framing of a chunked transfer.
    package let body: GuardedBytes
    /// Whether the server closed the stream with TLS's message. If not, what has no length may have been cut.
    package let isClosed: Bool
    /// The reason why the exchange ended early; `nil` if the response is whole by its framing.
    package let failure: CofferError?

    init(
        head: consuming GuardedBytes, body: consuming GuardedBytes, isClosed: Bool, failure: CofferError?
    ) {
        self.head = head
        self.body = body
        self.isClosed = isClosed
        self.failure = failure
    }

    /// Consumes the outcome and returns the body.
    package consuming func takeBody() -> GuardedBytes { body }
}
