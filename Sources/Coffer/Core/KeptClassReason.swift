/// The reason why an item cannot be given another protection class.
public enum KeptClassReason: String, Sendable, CaseIterable {
    /// The item exists only until the next lock, so it never leaves this device.
    case sessionOnly
    /// The item is in the class ``ProtectionClass/whenPasscodeSetThisDeviceOnly``, whose items exist only
    /// while a passcode is set. In another class it would outlast the passcode.
    case passcodeDependent
    /// A context is bound to the file, and it was not given.
    case contextBound
    /// The library, or the profile of an OAuth session, determines the token's class.
    case reserved
    /// The item is damaged or was written by a newer release.
    case unreadable
}
