extension RemoteCommand {
    /// The action of a signed command.
    public enum Action: Sendable, Hashable {
        /// Erase.
        case wipe(WipeScope)
        /// Only record a heartbeat of the administrator: see ``DeadManSwitch``.
        case heartbeat
        /// Trust another key from now on.
        case pin(AdministratorKey)
        /// Stop trusting a key. A command cannot remove the last key.
        case unpin(AdministratorKey)
    }
}
