public import FoundationEssentials
public import SystemPackage
import CofferVault

/// The description of a stored file. It is sealed in the container, like the content.
public struct FileInfo: Sendable, Equatable {
    /// The file's identifier.
    public let id: FileID
    /// The original name: the bytes as they were on disk, which are not always UTF-8.
    public let name: FilePath.Component
    /// The plaintext's length in bytes.
    public let length: Int64
    /// When the original was last modified.
    public let modified: Date
    /// The protection class, which decides when the file can be read.
    public let protection: ProtectionClass
    /// Whether the file's container exists.
    public let state: FileState
}
