/// The result of giving items another protection class. Items are tokens, files or databases.
public struct Reclassification<Item: Sendable>: Sendable {
    /// An item that kept its class.
    public struct Kept: Sendable {
        /// The item.
        public let item: Item
        /// The reason why the item kept its class.
        public let reason: KeptClassReason
    }

    /// The number of items that now have the new class.
    public internal(set) var changed = 0
    /// The number of items that already had the new class.
    public internal(set) var unchanged = 0
    /// The items that kept another class, and the reasons.
    public internal(set) var kept: [Kept] = []

    /// Creates an empty result.
    package init() {}

    mutating func keep(_ item: Item, _ reason: KeptClassReason) {
        kept.append(Kept(item: item, reason: reason))
    }

    /// Returns this result with other items.
    package func map<Other: Sendable>(_ item: (Item) -> Other) -> Reclassification<Other> {
        var result = Reclassification<Other>()
        (result.changed, result.unchanged) = (changed, unchanged)
        for one in kept { result.keep(item(one.item), one.reason) }
        return result
    }
}
