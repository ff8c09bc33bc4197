import CofferVault
import Synchronization

/// A broadcaster that delivers a vault's events, first to the vault's own observers, which clear state, and
/// then to streams.
final class EventBroadcaster: Sendable {
    private struct State {
        var observers: [@Sendable (VaultEvent) -> Void] = []
        var lossObservers: [LossObserver] = []
        var streams: [Int: AsyncStream<VaultEvent>.Continuation] = [:]
        var next = 0
    }

    /// An observer that is called when keys are evicted, as long as an object is alive.
    private struct LossObserver {
        let isNeeded: @Sendable () -> Bool
        let call: @Sendable (Set<ProtectionClass>) -> Void
        /// Whether any lock counts as the loss of every key.
        let isForAnyLock: Bool
        let number: Int
    }

    private let state = Mutex(State())
    private static let buffered = 64

    /// Calls `body` for each event on the thread that posts it, before any stream receives the event.
    func observe(_ body: @escaping @Sendable (VaultEvent) -> Void) {
        state.withLock { $0.observers.append(body) }
    }

    /// As long as `object` is alive, calls `body` after each eviction with the classes that lost their keys,
    /// on the thread that evicted them. If `isForAnyLock` is `true`, a lock counts as the eviction of every
    /// key, as it does for everything that lasts only for a session. Does not retain `object`.
    func onKeyEviction(
        while object: any AnyObject & Sendable, isForAnyLock: Bool = false,
        _ body: @escaping @Sendable (Set<ProtectionClass>) -> Void
    ) {
        // Check outside of the lock, because the check can release the object's last reference.
        let ended = Set(state.withLock { $0.lossObservers }.filter { !$0.isNeeded() }.map(\.number))
        let isNeeded: @Sendable () -> Bool = { [weak object] in object != nil }
        state.withLock { state in
            state.lossObservers.removeAll { ended.contains($0.number) }
            state.next += 1
            state.lossObservers.append(
                LossObserver(
                    isNeeded: isNeeded, call: body, isForAnyLock: isForAnyLock, number: state.next))
        }
    }

    /// Notifies the observers that the keys of these classes were evicted, all by a lock if `isLock` is
    /// `true`.
    func keysEvicted(of classes: Set<ProtectionClass>, isLock: Bool = false) {
        for observer in state.withLock({ $0.lossObservers }) where observer.isNeeded() {
            let isEverything = isLock && observer.isForAnyLock
            observer.call(isEverything ? Set(ProtectionClass.allCases) : classes)
        }
    }

    func stream() -> AsyncStream<VaultEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: VaultEvent.self, bufferingPolicy: .bufferingNewest(Self.buffered))
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

    func post(_ event: VaultEvent) {
        let (observers, streams) = state.withLock { ($0.observers, $0.streams) }
        for observer in observers { observer(event) }
        switch event.kind {
        case .unlocked, .revoked, .revocationProcessed, .policyChanged: break
        case .locked:
            keysEvicted(of: Set(ProtectionClass.allCases.filter(\.isEvictedOnLock)), isLock: true)
        case .closed, .wiped: keysEvicted(of: Set(ProtectionClass.allCases))
        }
        for stream in streams.values { stream.yield(event) }
    }

    deinit { for stream in state.withLock({ $0.streams.values }) { stream.finish() } }
}
