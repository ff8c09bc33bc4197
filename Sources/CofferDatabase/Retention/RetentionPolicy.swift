/// How long the entries of a soup are kept that nobody looks at: the rule of a feed's cache.
public struct RetentionPolicy: Sendable, Hashable {
    /// Entries that were last viewed longer ago than this are purged.
    public var maximumAge: Duration
    /// Nothing is purged when fewer entries than this would remain.
    public var minimumCount: Int
    /// Of more entries than this, those that were viewed longest ago are trimmed.
    public var maximumCount: Int

    /// A policy.
    ///
    /// - Parameters:
    ///   - maximumAge: One week where nothing is given.
    ///   - minimumCount: 25 where nothing is given.
    ///   - maximumCount: 500 where nothing is given.
    public init(
        maximumAge: Duration = .seconds(7 * 24 * 3600), minimumCount: Int = 25, maximumCount: Int = 500
    ) {
        self.maximumAge = maximumAge
        self.minimumCount = minimumCount
        self.maximumCount = maximumCount
    }
}
