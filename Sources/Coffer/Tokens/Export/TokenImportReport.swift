/// The result of importing tokens with
/// ``TokenStore/importTokens(from:passphrase:replacing:allowingExpensive:)-(FilePath,_,_,_)``. An import
/// overwrites nothing in the vault unless the caller sets `replacing`.
public struct TokenImportReport: Sendable, Equatable {
    /// The number of tokens that were added to the vault.
    public internal(set) var imported = 0
    /// The number of tokens that had different contents in the vault and were replaced.
    public internal(set) var replaced = 0
    /// The number of tokens that the vault already had with identical contents.
    public internal(set) var same = 0
    /// The tokens that have different or unreadable contents in the vault and were left unchanged.
    public internal(set) var conflicts: [TokenID] = []
}
