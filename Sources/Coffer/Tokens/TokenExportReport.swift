/// What ``TokenStore/export(to:passphrase:only:cost:)`` wrote and what it left out.
public struct TokenExportReport: Sendable, Equatable {
    /// How many tokens are in the file.
    public let exported: Int
    /// How many stayed because their class may not leave this device.
    public let thisDeviceOnly: Int
    /// Those that cannot be read and so are not in the file; where they are stored they stay.
    public let damaged: [UnreadableToken]
}
