public import Coffer

/// The status of a database in a vault, which is available even while the database cannot be opened.
public struct VaultDatabaseInfo: Sendable, Hashable {
    /// The database's name.
    public let name: String
    /// The protection class that the database was created with, which determines when it can be opened; `nil`
    /// when its key is missing.
    public let protection: ProtectionClass?
    /// Whether the database is session-only: any lock removes it.
    public let isVolatile: Bool
    /// Whether the database can be opened now.
    public let isAvailable: Bool
    /// Whether the ``VaultDatabases`` that reports this status has the database open.
    public let isOpen: Bool
}
