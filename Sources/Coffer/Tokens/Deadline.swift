import CofferBase
import CofferEngine
import Synchronization

/// Until when an operation on a keyring may last, the time that a person takes to answer not counted.
final class Deadline: Sendable {
    private let end: Mutex<Duration>

    init(_ duration: Duration) { end = Mutex(Clock.sinceBoot + duration) }

    var remaining: Duration { end.withLock { $0 } - Clock.sinceBoot }

    /// Runs `body`, which has a deadline of its own.
    func pausing(_ body: () throws(CofferError) -> Void) throws(CofferError) {
        let start = Clock.sinceBoot
        defer { end.withLock { $0 += Clock.sinceBoot - start } }
        try body()
    }
}
