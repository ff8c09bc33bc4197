/// How far replacing the keys of files is.
public struct RewrapProgress: Sendable, Equatable {
    /// Containers done.
    public let completed: Int
    /// Containers in all.
    public let total: Int
}
