package import CofferBase

/// A protection class, which determines when an item can be read and whether the item may leave this device.
/// The names are those of Apple's Data Protection.
public enum ProtectionClass: UInt16, Sendable, CaseIterable {
    /// Readable only while the vault is unlocked; never exported. The default.
    case whenUnlockedThisDeviceOnly = 1
    /// Readable from the first unlock until reboot, even while the screen is locked; never exported.
    case afterFirstUnlockThisDeviceOnly = 2
    /// Readable only while the vault is unlocked, and only while a passcode is set: storing an item without a
    /// passcode fails, and removing the passcode destroys the stored items. Never exported.
    case whenPasscodeSetThisDeviceOnly = 3
    /// Readable only while the vault is unlocked; may be exported.
    case whenUnlocked = 4
    /// Readable from the first unlock until reboot, even while the screen is locked; may be exported.
    case afterFirstUnlock = 5

    /// The name that the command line uses.
    public var name: String {
        switch self {
        case .whenUnlockedThisDeviceOnly: "whenUnlockedThisDeviceOnly"
        case .afterFirstUnlockThisDeviceOnly: "afterFirstUnlockThisDeviceOnly"
        case .whenPasscodeSetThisDeviceOnly: "whenPasscodeSetThisDeviceOnly"
        case .whenUnlocked: "whenUnlocked"
        case .afterFirstUnlock: "afterFirstUnlock"
        }
    }

    /// Whether items of this class may be exported.
    public var isExportable: Bool { self == .whenUnlocked || self == .afterFirstUnlock }

    /// Whether items of this class exist only while a passcode is set.
    public var requiresPasscode: Bool { self == .whenPasscodeSetThisDeviceOnly }

    /// Whether `lock()` removes this class's key. Otherwise the key stays in memory until reboot, logout or
    /// wipe.
    package var isEvictedOnLock: Bool { self != .afterFirstUnlockThisDeviceOnly && self != .afterFirstUnlock }

    /// Returns the classes for which a vault with or without a passcode has keys.
    package static func all(hasPasscode: Bool) -> [ProtectionClass] {
        allCases.filter { hasPasscode || !$0.requiresPasscode }
    }
}

extension CofferError {
    package static var requiresPasscode: CofferError {
        CofferError(
            .refused,
            "Items in the class \(ProtectionClass.whenPasscodeSetThisDeviceOnly.name) require a passcode, "
                + "but none is set.", remedy: .setPasscodeAndUnlock)
    }
}
