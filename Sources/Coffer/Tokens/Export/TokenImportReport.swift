/// The result of ``TokenStore/importTokens(from:passphrase:replacing:allowingExpensive:)-(FilePath,_,_,_)``.
/// An import overwrites nothing in the vault unless the caller asks for it with `replacing`.
public struct TokenImportReport: Sendable, Equatable {
    /// The number of tokens that are new in the vault.
    public internal(set) var imported = 0
    /// The number of tokens that had another value in the vault and were replaced.
    public internal(set) var replaced = 0
    /// The number of tokens that the vault already had with identical contents.
    public internal(set) var same = 0
    /// Tokens that the vault has with other contents and that were left unchanged.
    public internal(set) var conflicts: [TokenID] = []
}
