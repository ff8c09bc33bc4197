import CofferVault
public import FoundationEssentials

/// A description of a vault's recovery key. It can be read while the vault is locked.
public struct RecoveryKeyStatus: Sendable, Equatable {
    /// The number by which people tell recovery keys apart, as on the sheet: `3F2A-90C1`.
    public let number: String
    /// The time at which the recovery key was set.
    public let created: Date
    /// Whether the recovery key also opens the vault if its device key is lost.
    public let opensWithoutDeviceKey: Bool

    init(_ slots: RecoverySlots) {
        number = RecoveryKey.number(of: slots.identifier)
        created = Date(timeIntervalSince1970: Double(slots.created))
        opensWithoutDeviceKey = slots.hasDeviceKey
    }
}
