/// What carrying out an order did.
public enum OrderOutcome: Sendable, Equatable {
    /// It erased.
    case wiped(WipeReceipt)
    /// The contact was noted; the dead-man's switch starts anew.
    case contactNoted
    /// A key was pinned.
    case keyPinned(AdministratorKey)
    /// A key was removed.
    case keyRemoved(AdministratorKey)
}
