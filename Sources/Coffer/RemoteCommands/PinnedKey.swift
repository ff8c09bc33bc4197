public import FoundationEssentials

/// An administrator's key that is pinned in a vault, which accepts commands signed with that key.
public struct PinnedKey: Sendable, Hashable {
    /// The administrator's public key.
    public let key: AdministratorKey
    /// The time at which the key was pinned.
    public let pinned: Date
    /// The label that the owner chose for the key; empty if a command pinned the key.
    public let label: String
}
