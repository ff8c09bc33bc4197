/// The result of one run of a retention policy.
public struct RetentionReport: Sendable, Hashable {
    /// The number of entries removed because they were not viewed for too long.
    public let purged: Int
    /// The number of entries removed because there were too many.
    public let trimmed: Int
    /// The number of entries left.
    public let remaining: Int
}
