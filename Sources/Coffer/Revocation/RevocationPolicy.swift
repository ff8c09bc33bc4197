/// The action when a grant was revoked.
public enum RevocationPolicy: Sendable, Hashable {
    /// Erase the scope; the user must sign in again. If the grant names no account, every key is evicted
    /// instead, unless the scope is ``RevocationScope/all``.
    case wipe(RevocationScope)
    /// Evict every key.
    case lock
    /// Do nothing; the program handles it when it receives ``VaultEvent/Kind/revoked``.
    case keep
}
