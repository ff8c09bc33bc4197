import Synchronization

/// The view copies that a session has handed out and that are still there: a lock removes them.
final class OpenViews: Sendable {
    private struct State {
        var views: [Int: @Sendable () -> Void] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    init(_ hub: EventHub) {
        hub.observe { [weak self] event in
            if event.kind != .unlocked { self?.removeAll() }
        }
    }

    /// Remembers how to remove a view copy; gives the number to forget it by.
    func add(_ remove: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.next += 1
            state.views[state.next] = remove
            return state.next
        }
    }

    func forget(_ number: Int) { _ = state.withLock { $0.views.removeValue(forKey: number) } }

    private func removeAll() {
        let views = state.withLock { state in
            defer { state.views = [:] }
            return state.views
        }
        for remove in views.values { remove() }
    }
}
