/// The number of items that exist only while a passcode is set:
/// ``ProtectionClass/whenPasscodeSetThisDeviceOnly``.
public struct PasscodeDependentItems: Sendable, Equatable {
    /// Tokens.
    public let tokens: Int
    /// Files.
    public let files: Int
    /// Databases.
    public let databases: Int
}
