/// The result of restoring one item of a backup.
public enum RestoreOutcome: Sendable, Equatable {
    /// The vault did not have the item and has it now.
    case added
    /// The vault has exactly this item.
    case equal
    /// The vault has another item of the same name, which stays.
    case kept
    /// The item replaced another one of the same name.
    case replaced
    /// The item cannot be restored here, for a reason.
    case impossible(Reason)

    /// The reason that an item cannot be restored.
    public enum Reason: String, Sendable, CaseIterable {
        /// The item is sealed for another device, or under keys that were replaced since.
        case otherDevice
        /// The item's name is reserved for the library.
        case reserved
        /// The item is damaged, or not in the form that Coffer writes.
        case damaged
        /// The item's class needs a passcode, and none is set.
        case needsPasscode
    }
}
