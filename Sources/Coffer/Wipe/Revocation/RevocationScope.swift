/// How much a grant that was taken back takes with it.
public enum RevocationScope: String, Sendable, CaseIterable {
    /// Everything the grant stood for: every token of that service and account, waiting and volatile ones
    /// too, and the user's namespace (``VaultLocation/namespace(of:)``) that bears the account's name, if
    /// there is one, with the user's stores in it; also when that namespace is the vault that had the grant.
    /// Other services' tokens and other users' namespaces stay, and so do stores that lie in a vault which
    /// holds several accounts: nothing says whose they are.
    case account
    /// The whole home: the vault and every user's namespace.
    case all
}
