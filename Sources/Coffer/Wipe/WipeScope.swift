/// The part of a vault that a wipe erases.
public enum WipeScope: Sendable, Hashable {
    /// Everything: the vault and every namespace in it.
    case all
    /// One user's vault (``VaultLocation/namespace(of:)``) and nothing else.
    case user(String)
    /// The vault's tokens, including pending and ephemeral ones. Files, databases and their keys, and the
    /// passcode stay.
    case tokens

    /// The scope's name without the user's name, as it appears in receipts: `all`, `user` or `tokens`.
    public var name: String {
        switch self {
        case .all: "all"
        case .user: "user"
        case .tokens: "tokens"
        }
    }
}
