public import CofferBase

/// A stored token that cannot be read. Its service and account are sealed too, so they are unknown.
public struct UnreadableToken: Sendable, Equatable {
    /// The token's name in the storage: the keyed hash of its name, in hexadecimal, or an item's path in the
    /// Secret Service.
    public let name: String
    /// The reason: `corrupt` or `unsupportedVersion`.
    public let code: CofferError.Code
}
