public import FoundationEssentials

/// A key whose orders a vault takes.
public struct PinnedKey: Sendable, Hashable {
    /// The key.
    public let key: AdministratorKey
    /// When it was pinned.
    public let pinned: Date
    /// What the owner calls it; empty for a key that was pinned by order.
    public let label: String
}
