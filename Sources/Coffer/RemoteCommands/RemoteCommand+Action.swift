extension RemoteCommand {
    /// The action that a command requests.
    public enum Action: Sendable, Hashable {
        /// Erase the given part of the vault.
        case wipe(WipeScope)
        /// Record a heartbeat from the administrator, which restarts the ``DeadManSwitch``, and do nothing
        /// else.
        case heartbeat
        /// Trust another key from now on.
        case pin(AdministratorKey)
        /// Stop trusting a key. A command cannot remove the last key.
        case unpin(AdministratorKey)
    }
}
