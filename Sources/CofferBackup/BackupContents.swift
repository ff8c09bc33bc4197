public import FoundationEssentials

/// The contents of a complete and authentic backup.
public struct BackupContents: Sendable, Equatable {
    /// The vault that was backed up.
    public internal(set) var vaultID: String
    /// The moment of the backup.
    public internal(set) var created: Date
    /// The numbers of items in the backup.
    public internal(set) var counts = BackupCounts()
    /// The number of items that stay behind by their kind: the library's own tokens, such as those of
    /// sessions at OAuth servers, and tokens that waited for an unlock or for a decision.
    public internal(set) var reserved = 0
    /// The items that could not be written as they were at the moment of the backup.
    public internal(set) var omitted: [OmittedItem] = []
    /// The paths of all entries in the archive, with their sizes in bytes.
    public internal(set) var entries: [BackupEntry] = []

    /// Whether the backup omits items because they are damaged.
    var omitsDamagedItems: Bool { omitted.contains { $0.reason == .damaged } }
}
