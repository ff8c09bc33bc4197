/// A file in a backup's archive.
public struct BackupEntry: Sendable, Equatable {
    /// The path.
    public let path: String
    /// The size in bytes.
    public let size: Int64
}
