import CofferBase

/// When an item can be read, and whether it may leave this device. Names as on Apple systems.
public enum ProtectionClass: UInt16, Sendable, CaseIterable {
    /// Only while unlocked; never in an export. The default.
    case whenUnlockedThisDeviceOnly = 1
    /// From the first unlock until reboot, also behind a locked screen; never in an export.
    case afterFirstUnlockThisDeviceOnly = 2
    /// Only while unlocked, and only where a passcode is set: storing is refused without one, and removing
    /// the passcode destroys what was stored. Never in an export.
    case whenPasscodeSetThisDeviceOnly = 3
    /// Only while unlocked; may be exported under a recovery key.
    case whenUnlocked = 4
    /// From the first unlock until reboot, also behind a locked screen; may be exported under a recovery key.
    case afterFirstUnlock = 5

    /// The name, as the command line takes it.
    public var name: String {
        switch self {
        case .whenUnlockedThisDeviceOnly: "whenUnlockedThisDeviceOnly"
        case .afterFirstUnlockThisDeviceOnly: "afterFirstUnlockThisDeviceOnly"
        case .whenPasscodeSetThisDeviceOnly: "whenPasscodeSetThisDeviceOnly"
        case .whenUnlocked: "whenUnlocked"
        case .afterFirstUnlock: "afterFirstUnlock"
        }
    }

    /// Whether items of this class may be exported under a recovery key.
    public var isExportable: Bool { self == .whenUnlocked || self == .afterFirstUnlock }

    /// Whether items of this class exist only while a passcode is set.
    public var requiresPasscode: Bool { self == .whenPasscodeSetThisDeviceOnly }

    /// Whether `lock()` drops its key; the other kind stays until reboot, logout or wipe.
    package var isEvictedOnLock: Bool { self != .afterFirstUnlockThisDeviceOnly && self != .afterFirstUnlock }

    /// The classes that a vault with a passcode, or one without, has keys of.
    static func all(hasPasscode: Bool) -> [ProtectionClass] {
        allCases.filter { hasPasscode || !$0.requiresPasscode }
    }
}

extension CofferError {
    static var requiresPasscode: CofferError {
        CofferError(
            .refused,
            "Items of the class \(ProtectionClass.whenPasscodeSetThisDeviceOnly.name) need a passcode, "
                + "and none is set: set one with passcode set, then unlock.")
    }
}
