import Synchronization

/// Hands a session's events to whoever listens: first to what the session must undo itself, then to streams.
final class EventHub: Sendable {
    private struct State {
        var observers: [@Sendable (SessionEvent) -> Void] = []
        var lossObservers: [@Sendable (Set<ProtectionClass>) -> Void] = []
        var streams: [Int: AsyncStream<SessionEvent>.Continuation] = [:]
        var next = 0
    }

    private let state = Mutex(State())
    private static let buffered = 64

    /// Calls `body` on the thread of each event, before any stream has it.
    func observe(_ body: @escaping @Sendable (SessionEvent) -> Void) {
        state.withLock { $0.observers.append(body) }
    }

    /// Calls `body` with the classes whose keys are gone, on the thread that they went on.
    func observeLosses(_ body: @escaping @Sendable (Set<ProtectionClass>) -> Void) {
        state.withLock { $0.lossObservers.append(body) }
    }

    /// Says that the keys of these classes are gone.
    func postLoss(of classes: Set<ProtectionClass>) {
        for observer in state.withLock({ $0.lossObservers }) { observer(classes) }
    }

    func stream() -> AsyncStream<SessionEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SessionEvent.self, bufferingPolicy: .bufferingNewest(Self.buffered))
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

    func post(_ event: SessionEvent) {
        let (observers, streams) = state.withLock { ($0.observers, $0.streams) }
        for observer in observers { observer(event) }
        switch event.kind {
        case .unlocked, .revoked, .revocationHandled: break
        case .locked: postLoss(of: Set(ProtectionClass.allCases.filter(\.dropsOnLock)))
        case .closed, .wiped: postLoss(of: Set(ProtectionClass.allCases))
        }
        for stream in streams.values { stream.yield(event) }
    }

    deinit { for stream in state.withLock({ $0.streams.values }) { stream.finish() } }
}
