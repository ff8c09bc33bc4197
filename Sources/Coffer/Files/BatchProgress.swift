/// The progress of an operation on all files.
public struct BatchProgress: Sendable, Equatable {
    /// The number of files processed so far.
    public let completed: Int
    /// The total number of files.
    public let total: Int
}
