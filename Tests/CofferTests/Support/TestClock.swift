import Coffer
import Synchronization

/// Clocks that a test sets.
final class TestClock: Sendable {
    private struct State {
        var sinceBoot = Duration.seconds(5000)
        var wall = Duration.seconds(1_800_000_000)
        var boot = "00000000-0000-4000-8000-000000000001"
    }

    private let state = Mutex(State())

    var source: VaultClock {
        VaultClock(
            bootTime: { self.state.withLock { $0.sinceBoot } },
            wallClock: { self.state.withLock { $0.wall } },
            bootIdentifier: { self.state.withLock { $0.boot } })
    }

    /// Moves both clocks; a negative duration sets them back.
    func advance(_ duration: Duration) {
        state.withLock {
            $0.sinceBoot += duration
            $0.wall += duration
        }
    }

    /// Sets the wall clock alone.
    func setWall(_ time: Duration) { state.withLock { $0.wall = time } }

    /// The clock as it is where the kernel's boot identifier cannot be read.
    var withoutBoot: VaultClock {
        let source = source
        return VaultClock(
            bootTime: source.bootTime, wallClock: source.wallClock, bootIdentifier: { VaultClock.unknownBoot }
        )
    }

    /// The clock of another machine, which was started so much earlier.
    func elsewhere(_ number: Int, earlier: Duration) -> VaultClock {
        let source = source
        return VaultClock(
            bootTime: { source.bootTime() + earlier }, wallClock: source.wallClock,
            bootIdentifier: { "10000000-0000-4000-8000-00000000000\(number)" })
    }

    /// The clock of a clone of this machine, whose snapshot was so much older.
    func clone(behind: Duration) -> VaultClock {
        let source = source
        return VaultClock(
            bootTime: { source.bootTime() - behind }, wallClock: source.wallClock,
            bootIdentifier: source.bootIdentifier)
    }

    /// As after a reboot, so long ago.
    func reboot(running: Duration = .zero) { boot(2, running: running) }

    /// As after a reboot with a number of its own, so long ago.
    func boot(_ number: Int, running: Duration) {
        let digits = String(number)
        state.withLock {
            $0.sinceBoot = running
            $0.wall += running
            $0.boot = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
        }
    }
}
