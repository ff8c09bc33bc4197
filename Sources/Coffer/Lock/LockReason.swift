/// The reason why keys were evicted.
public enum LockReason: String, Sendable, CaseIterable {
    /// `lock()` or `close()` was called.
    case requested = "asked"
    /// The vault's inactivity time passed without use.
    case inactivity = "idle"
    /// The kernel keyring dropped the keys that were cached there: they expired, or another process removed
    /// them.
    case kernelKeyExpired = "kernelKey"
    /// The machine was rebooted.
    case reboot
    /// logind asked the desktop session to lock.
    case screenLock
    /// logind reported that the desktop session was locked.
    case lockedHint
    /// The screen saver became active.
    case screenSaver
    /// The machine is going to sleep.
    case sleep
    /// The machine is shutting down.
    case shutdown
    /// The desktop session is ending.
    case sessionEnd
    /// The user's Secret Service collection was locked.
    case collectionLock
    /// A bus that this process listened to is gone, so its lock signals can no longer be received.
    case busLost
    /// The dead-man's switch was triggered: no heartbeat arrived in time.
    case contactTimeout = "noContact"
    /// A grant was revoked.
    case revoked
    /// Another process replaced the class keys, and the new ones are not in the kernel keyring.
    case keysReplaced
}
