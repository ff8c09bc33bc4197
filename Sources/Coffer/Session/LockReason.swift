/// Why keys were dropped.
public enum LockReason: String, Sendable, CaseIterable {
    /// `lock()` or `close()` was called.
    case requested = "asked"
    /// The inactivity time passed without use.
    case inactivity = "idle"
    /// The kernel keyring dropped the keys that were lent to it: their time was over, or another process
    /// locked.
    case kernelKeyExpired = "kernelKey"
    /// The machine was started anew.
    case reboot
    /// logind asked the desktop session to lock.
    case screenLock
    /// logind says that the desktop session is locked.
    case lockedHint
    /// The screen saver became active.
    case screenSaver
    /// The machine goes to sleep.
    case sleep
    /// The machine shuts down.
    case shutdown
    /// The desktop session ends.
    case sessionEnd
    /// The user's collection of the Secret Service was locked.
    case collectionLock
    /// A bus that was listened to is gone: what would lock cannot be heard any more.
    case busLost
    /// The dead-man's switch: no contact came in for too long.
    case contactTimeout = "noContact"
    /// A grant was taken back.
    case revoked
}
