/// The progress of an operation on one file.
public struct FileProgress: Sendable, Equatable {
    /// The number of plaintext bytes processed so far.
    public let completed: Int64
    /// The total number of plaintext bytes.
    public let total: Int64
}
