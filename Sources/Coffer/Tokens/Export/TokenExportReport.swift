/// The result of ``TokenStore/export(to:passphrase:only:cost:)-(FilePath,_,_,_)``: what it wrote and what it
/// left out.
public struct TokenExportReport: Sendable, Equatable {
    /// The number of tokens in the file.
    public let exported: Int
    /// The number of tokens left out because their class must not leave this device.
    public let thisDeviceOnly: Int
    /// Tokens that cannot be read and so are not in the file. They remain in the vault.
    public let corrupt: [UnreadableToken]
}
