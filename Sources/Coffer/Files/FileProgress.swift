/// The progress of an operation on one file.
public struct FileProgress: Sendable, Equatable {
    /// The number of plaintext bytes done.
    public let completed: Int64
    /// The total number of plaintext bytes.
    public let total: Int64
}
