/// The tokens that are stored in the vault; the others are only in memory.
public enum GrantStorage: String, Sendable, Hashable, CaseIterable {
    /// All tokens.
    case all
    /// Only the refresh token.
    case refreshOnly
    /// None: no refresh token is asked for, and the session ends with the program.
    case memory
}
