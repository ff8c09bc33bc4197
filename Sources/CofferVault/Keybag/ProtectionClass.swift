package import CofferBase

/// A protection class, which determines when an item can be read and whether the item may leave this device.
/// The cases have the same names as the classes in Apple's Data Protection.
public enum ProtectionClass: UInt16, Sendable, CaseIterable {
    /// A class of items that are readable only while the vault is unlocked and are never exported. This class
    /// is the default.
    case whenUnlockedThisDeviceOnly = 1
    /// A class of items that are readable from the first unlock until reboot, even while the screen is
    /// locked, and are never exported.
    case afterFirstUnlockThisDeviceOnly = 2
    /// A class of items that are readable only while the vault is unlocked and a passcode is set, and are
    /// never exported. Storing an item fails if no passcode is set, and removing the passcode destroys the
    /// stored items.
    case whenPasscodeSetThisDeviceOnly = 3
    /// A class of items that are readable only while the vault is unlocked and may be exported.
    case whenUnlocked = 4
    /// A class of items that are readable from the first unlock until reboot, even while the screen is
    /// locked, and may be exported.
    case afterFirstUnlock = 5

    /// The class's name on the command line.
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

    /// Whether `lock()` removes this class's key. If not, the key stays in memory until a reboot, a logout or
    /// a wipe.
    package var isEvictedOnLock: Bool { self != .afterFirstUnlockThisDeviceOnly && self != .afterFirstUnlock }

    /// The class of an item for which none is given.
    package static let standard = ProtectionClass.whenUnlockedThisDeviceOnly

    /// Whether this class protects less than the standard class: its items can be read while the vault is
    /// locked, or can be exported.
    package var isWeakerThanStandard: Bool { !isEvictedOnLock || isExportable }

    /// Returns whether this class protects less than `other`: its items may be exported, or can be read while
    /// the vault is locked, and those of `other` may or can not.
    package func isWeaker(than other: ProtectionClass) -> Bool {
        isExportable && !other.isExportable || !isEvictedOnLock && other.isEvictedOnLock
    }

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
