/// The numbers of items in the class ``ProtectionClass/whenPasscodeSetThisDeviceOnly``, which exist only
/// while a passcode is set.
public struct PasscodeDependentItems: Sendable, Equatable {
    /// The number of tokens.
    public let tokens: Int
    /// The number of files.
    public let files: Int
    /// The number of databases.
    public let databases: Int
}
