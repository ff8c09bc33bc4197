package import CofferBase
import Synchronization

/// The source of the events about sessions.
package final class OAuthEventSource: Sendable {
    private struct State {
        var streams: [Int: AsyncStream<OAuthEvent>.Continuation] = [:]
        var next = 0
        var onErasure: (@Sendable (GrantID) -> Void)?
    }

    private let state = Mutex(State())
    private static let buffered = 64

    /// Creates a source.
    package init() {}

    deinit { for stream in state.withLock({ $0.streams }).values { stream.finish() } }

    /// Returns a stream of the events from now on, which keeps the newest 64 events.
    package func stream() -> AsyncStream<OAuthEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: OAuthEvent.self, bufferingPolicy: .bufferingNewest(Self.buffered))
        let number = state.withLock { state in
            state.next += 1
            state.streams[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.streams.removeValue(forKey: number) }
        }
        return stream
    }

    /// Sets the closure that is called when the end of a session has erased the vault of the user with the
    /// account's name.
    package func setErasureReport(_ report: @escaping @Sendable (GrantID) -> Void) {
        state.withLock { $0.onErasure = report }
    }

    func reportErasure(of grant: GrantID) {
        let report = state.withLock { $0.onErasure }
        report?(grant)
    }

    /// Delivers an event to every stream.
    package func post(_ kind: OAuthEvent.Kind, _ grant: GrantID, _ error: CofferError? = nil) {
        let event = OAuthEvent(kind, profile: grant.profile, account: grant.account, error: error)
        for stream in state.withLock({ $0.streams }).values { stream.yield(event) }
    }
}
