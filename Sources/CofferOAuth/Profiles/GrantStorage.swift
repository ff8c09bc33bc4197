/// The tokens that are stored in the vault; the others are only in memory, until the vault is locked.
public enum GrantStorage: String, Sendable, Hashable, CaseIterable {
    /// All tokens.
    case all
    /// Only the refresh token.
    case refreshOnly
    /// None: no refresh token is asked for, so that the session is not renewed. It ends with its access
    /// token, or earlier when the vault is locked. Until then, every program that opens the vault can use it.
    case memory
}
