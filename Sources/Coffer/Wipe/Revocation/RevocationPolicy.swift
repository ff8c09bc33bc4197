/// What follows when a grant was taken back.
public enum RevocationPolicy: Sendable, Hashable {
    /// Erase what the scope names: the user has to sign in again. A grant that names no account is locked
    /// away instead, unless the scope is the whole home.
    case wipe(RevocationScope)
    /// Every key is dropped.
    case lock
    /// Nothing: the program handles it, told by ``VaultEvent/Kind/revoked``.
    case keep
}
