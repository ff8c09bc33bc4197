import CofferBase
package import CofferVault

/// A moment on both clocks. Two moments of the same boot are compared by the time since boot, which nobody
/// can set; other moments by the wall clock.
package struct ClockStamp: Sendable, Equatable {
    /// The kernel's identifier of the boot.
    package let boot: String
    /// The time since boot in milliseconds.
    package let sinceBoot: Int64
    /// The time since 1970 in milliseconds.
    package let wall: Int64

    /// Creates the stamp of this moment.
    package init(_ clock: VaultClock) {
        self.init(
            boot: clock.bootIdentifier(), sinceBoot: clock.bootTime().milliseconds,
            wall: clock.wallClock().milliseconds)
    }

    /// Creates the stamp of another moment.
    package init(boot: String, sinceBoot: Int64, wall: Int64) {
        self.boot = boot
        self.sinceBoot = sinceBoot
        self.wall = wall
    }

    /// Returns whether this moment is one of this boot, so that the time since boot tells how long it is ago.
    ///
    /// - Parameter clock: The clock.
    /// - Returns: Whether it is one; `false` if the boot is unknown.
    package func isOfThisBoot(_ clock: VaultClock) -> Bool { isOfBoot(of: ClockStamp(clock)) }

    private func isOfBoot(of now: ClockStamp) -> Bool {
        let isKnown = !boot.hasSameBytes(as: VaultClock.unknownBoot)
        return isKnown && boot.hasSameBytes(as: now.boot) && now.sinceBoot >= sinceBoot
    }

    /// Returns the time from this moment until now.
    ///
    /// - Parameter clock: The clock.
    /// - Returns: The time; `nil` if it is unknown, because the machine was started again and its wall clock
    ///   shows an earlier time.
    package func elapsed(_ clock: VaultClock) -> Duration? {
        let now = ClockStamp(clock)
        if isOfBoot(of: now) {
            return .milliseconds(now.sinceBoot - sinceBoot)
        }
        let (passed, isOver) = now.wall.subtractingReportingOverflow(wall)
        return isOver || passed < 0 ? nil : .milliseconds(passed)
    }
}

extension Duration {
    /// The time in whole milliseconds.
    fileprivate var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
