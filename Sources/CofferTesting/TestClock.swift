public import Coffer
import Synchronization

/// A clock that advances only when a test advances it.
///
/// Pass its ``source`` to a vault, then call ``advance(by:)`` to let the inactivity time elapse,
/// ``setWallClock(to:)`` to let tokens expire, or ``reboot()``. No test needs to sleep.
public final class TestClock: Sendable {
    private struct State {
        var sinceBoot = Duration.seconds(1000)
        var wall = Duration.seconds(1_800_000_000)
        var boots = 1
    }

    private let state = Mutex(State())

    /// Creates a clock that shows 1000 seconds since boot and a date in January 2027.
    public init() {}

    /// The clock to pass to a vault.
    public var source: VaultClock {
        VaultClock(
            bootTime: { [self] in state.withLock { $0.sinceBoot } },
            wallClock: { [self] in state.withLock { $0.wall } },
            bootIdentifier: { [self] in state.withLock { "boot-\($0.boots)" } })
    }

    /// Advances the time since boot and the wall clock by `duration`.
    public func advance(by duration: Duration) {
        state.withLock { state in
            state.sinceBoot += duration
            state.wall += duration
        }
    }

    /// Sets the wall clock to a time since 1 January 1970, as a user could. The time since boot does not
    /// change.
    public func setWallClock(to sinceEpoch: Duration) { state.withLock { $0.wall = sinceEpoch } }

    /// Simulates a reboot. Open vaults do not survive a real reboot, so open the vaults again afterwards.
    public func reboot() {
        state.withLock { state in
            state.sinceBoot = .zero
            state.boots += 1
        }
    }
}
