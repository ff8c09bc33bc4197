extension RemoteCommand {
    /// The action of a signed order.
    public enum Action: Sendable, Hashable {
        /// Erase.
        case wipe(WipeScope)
        /// Only record a contact of the administrator: see ``DeadManSwitch``.
        case contact
        /// Trust another key from now on.
        case pin(AdministratorKey)
        /// Stop trusting a key. An order cannot remove the last key.
        case unpin(AdministratorKey)
    }
}
