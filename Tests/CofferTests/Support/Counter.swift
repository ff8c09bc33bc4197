import CofferEngine
import Synchronization

/// A number that several threads count up.
final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    @discardableResult
    func increment() -> Int { count.add(1, ordering: .relaxed).newValue }

    /// Blocks the calling thread until another one counts, or until the time is up. For callbacks on worker
    /// threads.
    func wait(within limit: Duration = .seconds(100)) {
        let end = Clock.sinceBoot + limit
        while value == 0, Clock.sinceBoot < end { Clock.sleep(for: .milliseconds(2)) }
    }
}
