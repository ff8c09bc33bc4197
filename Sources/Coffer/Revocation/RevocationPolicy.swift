/// The action to take when a grant is revoked.
public enum RevocationPolicy: Sendable, Hashable {
    /// Erase the given scope; the user must sign in again. If the grant belongs to no account, evict every
    /// key instead, unless the scope is ``RevocationScope/all``.
    case wipe(RevocationScope)
    /// Evict every key.
    case lock
    /// Do nothing. The program takes action itself when it receives ``VaultEvent/Kind/revoked``.
    case keep
}
