/// How far work on a file is.
public struct FileProgress: Sendable, Equatable {
    /// Bytes of plaintext done.
    public let completed: Int64
    /// Bytes of plaintext in all.
    public let total: Int64
}
