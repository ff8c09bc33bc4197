/// What a signed order asks for.
public enum OrderAction: Sendable, Hashable {
    /// Erase.
    case wipe(WipeScope)
    /// Nothing but to note that the administrator has been heard from: see ``DeadManSwitch``.
    case contact
    /// Trust another key from now on.
    case pin(AdministratorKey)
    /// Trust a key no longer. The last key is not removed by order.
    case unpin(AdministratorKey)
}
