public import CofferBase

/// A stored token that cannot be read. Its service and account are sealed too, so they are unknown.
public struct UnreadableToken: Sendable, Equatable {
    /// The token's identifier in the storage: either the keyed hash of the token's name, in hexadecimal, or
    /// an item's path in the Secret Service.
    public let name: String
    /// The reason why the token cannot be read: either `corrupt` or `unsupportedVersion`.
    public let code: CofferError.Code
}
