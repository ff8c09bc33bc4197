extension RemoteCommand {
    /// The result of carrying out a command.
    public enum Outcome: Sendable, Equatable {
        /// The wipe is complete.
        case wiped(WipeReceipt)
        /// The heartbeat was recorded; the dead-man's switch starts counting again.
        case heartbeatRecorded
        /// A key was pinned.
        case keyPinned(AdministratorKey)
        /// A key was removed.
        case keyRemoved(AdministratorKey)
    }
}
