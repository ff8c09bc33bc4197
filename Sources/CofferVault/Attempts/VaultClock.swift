import CofferBase
import CofferEngine

/// The clocks that a vault uses; tests supply their own.
public struct VaultClock: Sendable {
    /// Time since boot, suspension included. Locks and delays use it.
    public var bootTime: @Sendable () -> Duration
    /// Time since 1970, as the user set it. The dates of items use it.
    public var wallClock: @Sendable () -> Duration
    /// The kernel's identifier of this boot; ``unknownBoot`` if it cannot be read, as without /proc.
    public var bootIdentifier: @Sendable () -> String

    /// Creates a clock from three functions.
    public init(
        bootTime: @escaping @Sendable () -> Duration, wallClock: @escaping @Sendable () -> Duration,
        bootIdentifier: @escaping @Sendable () -> String
    ) {
        self.bootTime = bootTime
        self.wallClock = wallClock
        self.bootIdentifier = bootIdentifier
    }

    /// CLOCK_BOOTTIME, CLOCK_REALTIME and the kernel's boot identifier.
    public static let system = VaultClock(
        bootTime: { Clock.sinceBoot }, wallClock: { Clock.wall },
        bootIdentifier: { boot })

    /// Read once, because no process outlives a reboot.
    private static let boot = (try? Clock.bootIdentifier()) ?? unknownBoot

    /// Stands for the identifier of a boot that cannot be distinguished from others.
    public static let unknownBoot = "unknown"

    /// Whether the boot has a known identifier.
    package var knowsBoot: Bool { !bootIdentifier().hasSameBytes(as: Self.unknownBoot) }
}
