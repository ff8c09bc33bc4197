/// When an item can be read. Names as on Apple systems.
public enum ProtectionClass: UInt16, Sendable, CaseIterable {
    /// Only while unlocked; never in an export. The default.
    case whenUnlockedThisDeviceOnly = 1
    /// From the first unlock until reboot, also behind a locked screen; never in an export.
    case afterFirstUnlockThisDeviceOnly = 2

    /// The name, as the command line takes it.
    public var name: String {
        switch self {
        case .whenUnlockedThisDeviceOnly: "whenUnlockedThisDeviceOnly"
        case .afterFirstUnlockThisDeviceOnly: "afterFirstUnlockThisDeviceOnly"
        }
    }

    /// Whether `lock()` drops its key; the other kind stays until reboot, logout or wipe.
    var dropsOnLock: Bool { self == .whenUnlockedThisDeviceOnly }
}
