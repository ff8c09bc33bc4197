/// What one run of a retention policy did.
public struct RetentionReport: Sendable, Hashable {
    /// Entries removed because nobody had viewed them for too long.
    public let purged: Int
    /// Entries removed because there were too many.
    public let trimmed: Int
    /// Entries left.
    public let remaining: Int
}
