/// The result of one run of a retention policy.
public struct RetentionReport: Sendable, Hashable {
    /// The number of entries removed because they were last viewed too long ago.
    public let purged: Int
    /// The number of entries removed because the soup had too many.
    public let trimmed: Int
    /// The number of remaining entries.
    public let remaining: Int
}
