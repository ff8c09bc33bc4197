/// The numbers of items in a backup.
public struct BackupCounts: Sendable, Equatable {
    /// The tokens that can be restored in any vault.
    public var tokens = 0
    /// The files that can be restored in any vault.
    public var files = 0
    /// The databases and soup stores that can be restored in any vault.
    public var databases = 0
    /// The tokens that can be restored only in the vault that they come from.
    public var deviceTokens = 0
    /// The files that can be restored only in the vault that they come from.
    public var deviceFiles = 0
    /// The databases and soup stores that can be restored only in the vault that they come from.
    public var deviceDatabases = 0

    /// Creates counts of zero.
    public init() {}

    /// The number of items that can be restored in any vault.
    public var movable: Int { tokens + files + databases }
    /// The number of items that can be restored only in the vault that they come from.
    public var deviceOnly: Int { deviceTokens + deviceFiles + deviceDatabases }
    /// The number of all items.
    public var items: Int { movable + deviceOnly }
}
