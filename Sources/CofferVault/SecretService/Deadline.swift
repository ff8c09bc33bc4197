package import CofferBase
import CofferEngine
import Synchronization

/// The deadline for a token storage operation. Time during which the user is prompted does not count.
package final class Deadline: Sendable {
    private let end: Mutex<Duration>

    package init(_ duration: Duration) { end = Mutex(Clock.sinceBoot + duration) }

    package var remaining: Duration { end.withLock { $0 } - Clock.sinceBoot }

    /// Runs `body`, which has its own deadline, without counting the time that `body` takes.
    package func pausing(_ body: () throws(CofferError) -> Void) throws(CofferError) {
        let start = Clock.sinceBoot
        defer { end.withLock { $0 += Clock.sinceBoot - start } }
        try body()
    }
}
