import Coffer
import CofferTesting

/// The boots and machines that Coffer's own tests need of the clock that consumers have.
extension TestClock {
    /// The clock where the kernel's boot identifier cannot be read.
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
    func reboot(running: Duration) {
        reboot()
        advance(by: running)
    }
}
