public import Coffer

/// What is known of a database of a vault, also while it cannot be opened.
public struct VaultDatabaseInfo: Sendable, Hashable {
    /// Its name.
    public let name: String
    /// When it can be opened; it is what the database was made with. `nil` when its key is missing.
    public let protection: ProtectionClass?
    /// Whether it could be opened now.
    public let isAvailable: Bool
    /// Whether it is open here.
    public let isOpen: Bool
}
