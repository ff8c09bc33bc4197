/// How far work on all files is.
public struct BatchProgress: Sendable, Equatable {
    /// Files done.
    public let completed: Int
    /// Files in all.
    public let total: Int
}
