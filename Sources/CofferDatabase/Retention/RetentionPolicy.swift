/// The limits, by age and by number, on the entries that a soup keeps.
public struct RetentionPolicy: Sendable, Hashable {
    /// Entries last viewed longer ago than this are purged.
    public var maximumAge: Duration
    /// Nothing is purged when fewer entries than this would remain.
    public var minimumCount: Int
    /// When a soup has more entries than this, those viewed longest ago are trimmed.
    public var maximumCount: Int

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - maximumAge: One week by default.
    ///   - minimumCount: 25 by default.
    ///   - maximumCount: 500 by default.
    public init(
        maximumAge: Duration = .seconds(7 * 24 * 3600), minimumCount: Int = 25, maximumCount: Int = 500
    ) {
        self.maximumAge = maximumAge
        self.minimumCount = minimumCount
        self.maximumCount = maximumCount
    }
}
