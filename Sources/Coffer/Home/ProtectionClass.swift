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

    /// The class of that name.
    public init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }

    /// Whether `lock()` drops its key; the other kind stays until reboot, logout or wipe.
    var dropsOnLock: Bool { self == .whenUnlockedThisDeviceOnly }
}
