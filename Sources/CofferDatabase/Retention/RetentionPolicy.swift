/// A policy that limits the entries that a soup keeps, by age and by number.
public struct RetentionPolicy: Sendable, Hashable {
    /// The maximum time since an entry was last viewed, after which the entry is purged.
    public var maximumAge: Duration
    /// The minimum number of entries to keep: nothing is purged when fewer would remain.
    public var minimumCount: Int
    /// The maximum number of entries to keep: when a soup has more, those viewed longest ago are trimmed.
    public var maximumCount: Int

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - maximumAge: The maximum time since an entry was last viewed; one week by default.
    ///   - minimumCount: The minimum number of entries to keep; 25 by default.
    ///   - maximumCount: The maximum number of entries to keep; 500 by default.
    public init(
        maximumAge: Duration = .seconds(7 * 24 * 3600), minimumCount: Int = 25, maximumCount: Int = 500
    ) {
        self.maximumAge = maximumAge
        self.minimumCount = minimumCount
        self.maximumCount = maximumCount
    }
}
