/// Whether this process listens to one lock trigger on this host.
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
    /// How it works, or why it is not active and what to do about it.
    public let message: String

    init(_ source: Source, _ isListening: Bool, _ message: String) {
        self.source = source
        self.isListening = isListening
        self.message = message
    }
}
