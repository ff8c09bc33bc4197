/// The result of ``TokenStore/export(to:passphrase:only:cost:)-(FilePath,_,_,_)``, which counts the tokens
/// that were written and those that were left out.
public struct TokenExportReport: Sendable, Equatable {
    /// The number of tokens in the file.
    public let exported: Int
    /// The number of tokens left out because their class does not allow them to leave this device.
    public let thisDeviceOnly: Int
    /// The tokens that cannot be read and are therefore not in the file. They remain in the vault.
    public let corrupt: [UnreadableToken]
}
