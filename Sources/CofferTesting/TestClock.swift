public import Coffer
import Synchronization

/// A clock that stands still until a test moves it.
///
/// Give its ``source`` to a session, then ``advance(by:)`` past the inactivity time, ``setWallClock(to:)``
/// for expiry, or ``reboot()``: nothing needs to sleep.
public final class TestClock: Sendable {
    private struct State {
        var sinceBoot = Duration.seconds(1000)
        var wall = Duration.seconds(1_800_000_000)
        var boots = 1
    }

    private let state = Mutex(State())

    /// A clock that shows 1000 seconds since boot and some day in 2027.
    public init() {}

    /// What a session takes.
    public var source: VaultClock {
        VaultClock(
            bootTime: { [self] in state.withLock { $0.sinceBoot } },
            wallClock: { [self] in state.withLock { $0.wall } },
            bootIdentifier: { [self] in state.withLock { "boot-\($0.boots)" } })
    }

    /// Lets time pass, on both clocks.
    public func advance(by duration: Duration) {
        state.withLock { state in
            state.sinceBoot += duration
            state.wall += duration
        }
    }

    /// Sets the clock on the wall alone, as a user could.
    public func setWallClock(to sinceEpoch: Duration) { state.withLock { $0.wall = sinceEpoch } }

    /// Starts counting from a new boot. Sessions open before it do not exist after a real one: open new ones.
    public func reboot() {
        state.withLock { state in
            state.sinceBoot = .zero
            state.boots += 1
        }
    }
}
