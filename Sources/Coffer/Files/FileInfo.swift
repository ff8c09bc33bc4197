public import FoundationEssentials
public import SystemPackage

/// What is known of a stored file. Sealed in its container, like the content.
public struct FileInfo: Sendable, Equatable {
    /// What it is found by.
    public let id: FileID
    /// The original name: the bytes as they were on the disk, not always UTF-8.
    public let name: FilePath.Component
    /// The plaintext's length in bytes.
    public let length: Int64
    /// When the original was last modified.
    public let modified: Date
    /// When it can be read.
    public let protection: ProtectionClass
    /// Whether its container is there.
    public let state: FileState
}
