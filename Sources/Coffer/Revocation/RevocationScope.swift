/// The part of a vault to erase when a grant is revoked.
public enum RevocationScope: String, Sendable, CaseIterable {
    /// Everything that is based on the grant: every token for that service and account, including pending and
    /// ephemeral ones, and the namespace (``VaultLocation/namespace(of:)``) with the account's name, if there
    /// is one, including the user's stores in it, even if the grant was in that namespace. Tokens for other
    /// services and other users' vaults stay. Stores in a vault with several accounts also stay, because
    /// their account is not recorded.
    case account
    /// The whole vault and every namespace in it.
    case all
}
