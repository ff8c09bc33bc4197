import CofferVault
public import FoundationEssentials
public import SystemPackage

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

    /// Creates a description, for an app's own stand-ins in tests. A ``FileStore`` returns those it read.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - name: The original name.
    ///   - length: The plaintext's length in bytes.
    ///   - modified: When the original was last modified.
    ///   - protection: The protection class.
    ///   - state: Whether the file's container exists.
    public init(
        id: FileID, name: FilePath.Component, length: Int64, modified: Date, protection: ProtectionClass,
        state: FileState
    ) {
        self.id = id
        self.name = name
        self.length = length
        self.modified = modified
        self.protection = protection
        self.state = state
    }
}
