/// The numbers of items in the class ``ProtectionClass/whenPasscodeSetThisDeviceOnly``, which exist only
/// while a passcode is set.
public struct PasscodeDependentItems: Sendable, Equatable {
    /// The number of tokens.
    public let tokens: Int
    /// The number of files.
    public let files: Int
    /// The number of databases.
    public let databases: Int
    /// The number of key pairs.
    public let keyPairs: Int

    init(tokens: Int, files: Int, databases: Int, keyPairs: Int = 0) {
        (self.tokens, self.files, self.databases, self.keyPairs) = (tokens, files, databases, keyPairs)
    }

    /// The number of all items together.
    package var count: Int { tokens + files + databases + keyPairs }
}
