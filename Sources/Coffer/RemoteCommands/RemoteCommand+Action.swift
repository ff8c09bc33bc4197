extension RemoteCommand {
    /// The action of a signed command.
    public enum Action: Sendable, Hashable {
        /// Erase the scope.
        case wipe(WipeScope)
        /// Record a heartbeat from the administrator, and nothing else: see ``DeadManSwitch``.
        case heartbeat
        /// Trust another key from now on.
        case pin(AdministratorKey)
        /// Stop trusting a key. A command cannot remove the last key.
        case unpin(AdministratorKey)
    }
}
