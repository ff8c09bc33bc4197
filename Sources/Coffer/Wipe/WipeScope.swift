/// What of a home a wipe takes.
public enum WipeScope: Sendable, Hashable {
    /// Everything: the vault and every user's namespace.
    case all
    /// The namespace of one user and nothing else: see ``VaultLocation/namespace(of:)``.
    case user(String)
    /// The tokens of the vault, waiting and volatile ones too; files, databases with their keys and the
    /// passcode stay.
    case tokens

    /// The scope's name without the user's, as receipts say it: `all`, `user` or `tokens`.
    public var name: String {
        switch self {
        case .all: "all"
        case .user: "user"
        case .tokens: "tokens"
        }
    }
}
