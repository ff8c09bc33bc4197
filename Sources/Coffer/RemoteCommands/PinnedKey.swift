public import FoundationEssentials

/// A key whose commands a vault accepts.
public struct PinnedKey: Sendable, Hashable {
    /// The key.
    public let key: AdministratorKey
    /// The time at which the key was pinned.
    public let pinned: Date
    /// The owner's name for the key; empty for a key that a command pinned.
    public let label: String
}
