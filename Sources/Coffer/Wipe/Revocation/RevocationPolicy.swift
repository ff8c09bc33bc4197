/// What follows when a grant was taken back.
public enum RevocationPolicy: String, Sendable, CaseIterable {
    /// The vault is erased: the user has to sign in anew.
    case wipe
    /// Every key is dropped.
    case lock
    /// Nothing: the program handles it, told by ``SessionEvent/Kind/revoked``.
    case keep
}
