/// The part of a vault to erase when a grant is revoked.
public enum RevocationScope: String, Sendable, CaseIterable {
    /// Everything that is based on the grant: every token for that service and account, including pending and
    /// ephemeral ones, and the namespace with the account's name (``VaultLocation/namespace(of:)``), if there
    /// is one.
    ///
    /// The namespace is erased with the user's stores in it, even if the grant was in that namespace. Tokens
    /// for other services and other users' vaults stay. Stores in a vault with several accounts also stay,
    /// because a store's account is not recorded.
    case account
    /// The whole vault and every namespace in it.
    case all
}
