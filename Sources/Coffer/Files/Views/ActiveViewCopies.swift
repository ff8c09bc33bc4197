import CofferVault
import Synchronization

/// A vault's existing view copies, which are removed when the vault locks.
final class ActiveViewCopies: Sendable {
    private struct State {
        var views: [Int: (protection: ProtectionClass, remove: @Sendable () -> Void)] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    init(_ events: EventBroadcaster) {
        events.observe { [weak self] event in
            if event.kind != .unlocked { self?.removeAll { _ in true } }
        }
        events.onKeyEviction(while: self) { [weak self] classes in
            self?.removeAll(where: classes.contains)
        }
    }

    /// Registers a closure that removes a view copy of a file in the given class; returns the number to pass
    /// to ``unregister(_:)``.
    func add(_ protection: ProtectionClass, _ remove: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.next += 1
            state.views[state.next] = (protection, remove)
            return state.next
        }
    }

    func unregister(_ number: Int) { _ = state.withLock { $0.views.removeValue(forKey: number) } }

    private func removeAll(where matches: (ProtectionClass) -> Bool) {
        let views = state.withLock { state in
            let removed = state.views.filter { matches($0.value.protection) }
            for number in removed.keys { state.views[number] = nil }
            return removed
        }
        for view in views.values { view.remove() }
    }
}
