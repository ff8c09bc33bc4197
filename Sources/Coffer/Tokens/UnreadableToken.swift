public import CofferBase

/// A stored token that cannot be read. Its service and account are sealed with it, so they are not known.
public struct UnreadableToken: Sendable, Equatable {
    /// The name by which the keyring finds it: the keyed hash of its name in hexadecimal digits, or, in the
    /// Secret Service, the path of the item.
    public let name: String
    /// Why: `corrupt` or `unsupportedVersion`.
    public let code: CofferError.Code
}
