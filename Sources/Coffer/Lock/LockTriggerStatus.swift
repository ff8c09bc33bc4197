/// The status of one lock trigger in this process.
public struct LockTriggerStatus: Sendable, Equatable {
    /// A lock trigger.
    public enum Source: String, Sendable, CaseIterable {
        /// The vault's inactivity time.
        case idleTimer
        /// The expiration of keys in the kernel keyring.
        case kernelKeyring
        /// logind's Lock signal and LockedHint property, and the end of the desktop session.
        case desktopSession
        /// logind's PrepareForSleep signal, with a delay inhibitor, and its PrepareForShutdown signal.
        case sleep
        /// A screen saver's ActiveChanged signal.
        case screenSaver
        /// The Locked property of the user's default Secret Service collection.
        case collection
    }

    /// The trigger that has this status.
    public let source: Source
    /// Whether the trigger is active.
    public let isListening: Bool
    /// An explanation of how the trigger works or why it is not active.
    public let message: String

    init(_ source: Source, _ isListening: Bool, _ message: String) {
        self.source = source
        self.isListening = isListening
        self.message = message
    }
}
