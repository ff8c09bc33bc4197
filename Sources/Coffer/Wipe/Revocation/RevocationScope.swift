/// How much a grant that was taken back takes with it.
public enum RevocationScope: String, Sendable, CaseIterable {
    /// Everything the grant stood for: every token of that service and account, waiting and volatile ones
    /// too, and the user's namespace (``HomeLocation/namespace(of:)``) that bears the account's name, if
    /// there is one, with the user's stores in it. Other services' tokens and other users' namespaces stay.
    case account
    /// The whole home: the vault and every user's namespace.
    case all
}
