import CofferBase
import CofferEngine

/// The clocks that a vault uses, which tests can replace.
public struct VaultClock: Sendable {
    /// The time since boot, including suspension. Automatic locking and attempt delays use this clock.
    public var bootTime: @Sendable () -> Duration
    /// The time since 1 January 1970 on a clock that the user can set. Item dates use this clock.
    public var wallClock: @Sendable () -> Duration
    /// The kernel's identifier for this boot; ``unknownBoot`` if the identifier cannot be read, such as when
    /// /proc is not mounted.
    public var bootIdentifier: @Sendable () -> String

    /// Creates clocks from functions that return the time since boot, the time since 1 January 1970 and the
    /// boot identifier.
    public init(
        bootTime: @escaping @Sendable () -> Duration, wallClock: @escaping @Sendable () -> Duration,
        bootIdentifier: @escaping @Sendable () -> String
    ) {
        self.bootTime = bootTime
        self.wallClock = wallClock
        self.bootIdentifier = bootIdentifier
    }

    /// The system's clocks: CLOCK_BOOTTIME, CLOCK_REALTIME and the kernel's boot identifier.
    public static let system = VaultClock(
        bootTime: { Clock.sinceBoot }, wallClock: { Clock.wall },
        bootIdentifier: { boot })

    /// The boot identifier, read once because no process outlives a reboot.
    private static let boot = (try? Clock.bootIdentifier()) ?? unknownBoot

    /// The identifier of a boot that cannot be distinguished from other boots.
    public static let unknownBoot = "unknown"

    /// Whether the boot has a known identifier.
    package var knowsBoot: Bool { !bootIdentifier().hasSameBytes(as: Self.unknownBoot) }
}
