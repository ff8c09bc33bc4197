import CofferBase
import CofferEngine

/// The clocks a session goes by; tests put their own in.
public struct VaultClock: Sendable {
    /// Time since boot, suspension included: what locks and delays go by.
    public var bootTime: @Sendable () -> Duration
    /// Time since 1970, as the user set it: what dates of items go by.
    public var wallClock: @Sendable () -> Duration
    /// The kernel's identifier of this boot; ``unknownBoot`` where it cannot be read, as without /proc.
    public var bootIdentifier: @Sendable () -> String

    /// A source made of three functions.
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

    /// Read once: no process outlives a reboot.
    private static let boot = (try? Clock.bootIdentifier()) ?? unknownBoot

    /// Stands for the identifier of a boot that cannot be told from others.
    public static let unknownBoot = "unknown"

    /// Whether it can be told which boot this is.
    var knowsBoot: Bool { !bootIdentifier().hasSameBytes(as: Self.unknownBoot) }
}
