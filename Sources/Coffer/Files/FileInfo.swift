import CofferVault
public import FoundationEssentials
public import SystemPackage

/// The description of a stored file. The name and the date are sealed in the container, like the content.
public struct FileInfo: Sendable, Equatable {
    /// The file's identifier.
    public let id: FileID
    /// The original name: the bytes as they were on disk, which are not always UTF-8.
    public let name: FilePath.Component
    /// The plaintext's length in bytes.
    public let length: Int64
    /// The date when the original was last modified.
    public let modified: Date
    /// The protection class, which decides when the file can be read.
    public let protection: ProtectionClass
    /// Whether the file's container exists.
    public let state: FileState

    /// Creates a description, for example for a test double. A ``FileStore`` returns only descriptions that
    /// it read from the vault.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - name: The original name.
    ///   - length: The plaintext's length in bytes.
    ///   - modified: The date when the original was last modified.
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
