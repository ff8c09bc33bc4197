public import Coffer

/// The result of restoring a backup. Nothing in the vault was removed, and each item is counted once:
/// ``added`` + ``equal`` + ``kept`` + ``replaced`` + ``impossible`` is the number of the backup's items.
public struct RestoreReport: Sendable, Equatable {
    /// An item that was not simply added.
    public struct Item: Sendable, Equatable {
        /// The item's name for people: a token's name or the path in the backup.
        public let name: String
        /// The result for this item.
        public let outcome: RestoreOutcome
    }

    /// The items that the vault did not have.
    public private(set) var added = 0
    /// The items that the vault had exactly so.
    public private(set) var equal = 0
    /// The items that differ from the vault's, which stayed.
    public private(set) var kept = 0
    /// The items that replaced the vault's.
    public private(set) var replaced = 0
    /// The items that cannot be restored in this vault.
    public private(set) var impossible = 0
    /// The items that were kept, replaced or impossible.
    public private(set) var items: [Item] = []

    /// Creates a report of no items.
    public init() {}

    /// The number of items.
    public var total: Int { added + equal + kept + replaced + impossible }

    mutating func note(_ name: String, _ outcome: RestoreOutcome) {
        switch outcome {
        case .added: added += 1
        case .equal: equal += 1
        case .kept: kept += 1
        case .replaced: replaced += 1
        case .impossible: impossible += 1
        }
        if outcome != .added, outcome != .equal { items.append(Item(name: name, outcome: outcome)) }
    }
}
