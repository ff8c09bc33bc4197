/// The outcome of ``TokenStore/importTokens(from:passphrase:replacing:allowingExpensive:)``. An import loses
/// nothing of the vault, unless it was told to replace.
public struct TokenImportReport: Sendable, Equatable {
    /// How many tokens are new in the vault.
    public internal(set) var imported = 0
    /// How many stood there before with another value, and were replaced.
    public internal(set) var replaced = 0
    /// How many stood there already, the same in every respect.
    public internal(set) var same = 0
    /// Those that stand there with something else, and were left as they are.
    public internal(set) var conflicts: [TokenID] = []
}
