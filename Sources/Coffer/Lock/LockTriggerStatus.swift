/// The status of one lock trigger in this process.
public struct LockTriggerStatus: Sendable, Equatable {
    /// A lock trigger.
    public enum Source: String, Sendable, CaseIterable {
        /// The inactivity time.
        case idleTimer
        /// The timeout of keys in the kernel keyring.
        case kernelKeyring
        /// logind's Lock and LockedHint, and the end of the desktop session.
        case desktopSession
        /// logind's PrepareForSleep, under a delay inhibitor, and PrepareForShutdown.
        case sleep
        /// ActiveChanged of a screen saver.
        case screenSaver
        /// The Locked property of the user's default collection.
        case collection
    }

    /// The trigger.
    public let source: Source
    /// Whether the trigger is active.
    public let isListening: Bool
    /// An explanation of how the trigger works, or why it is not active.
    public let message: String

    init(_ source: Source, _ isListening: Bool, _ message: String) {
        self.source = source
        self.isListening = isListening
        self.message = message
    }
}
