import CofferVault
public import FoundationEssentials
public import SystemPackage

/// A description of a stored file. Like the content, the name and the date are sealed in the container.
public struct FileInfo: Sendable, Equatable {
    /// The file's identifier.
    public let id: FileID
    /// The file's name. Its bytes are stored unchanged and are not always valid UTF-8.
    public let name: FilePath.Component
    /// The plaintext's length in bytes.
    public let length: Int64
    /// The date and time when the content was last modified.
    public let modified: Date
    /// The protection class, which determines when the file can be read.
    public let protection: ProtectionClass
    /// The state of the file's container, which indicates whether the container exists.
    public let state: FileState
    /// Whether the file is session-only: it becomes unreadable with the next lock and is then removed.
    public let isVolatile: Bool

    /// Creates a description, for example for use in a test double. A ``FileStore`` returns only descriptions
    /// that it reads from the vault.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - name: The file's name.
    ///   - length: The plaintext's length in bytes.
    ///   - modified: The date and time when the content was last modified.
    ///   - protection: The protection class.
    ///   - state: The state of the file's container.
    ///   - isVolatile: Whether the file is session-only.
    public init(
        id: FileID, name: FilePath.Component, length: Int64, modified: Date, protection: ProtectionClass,
        state: FileState, isVolatile: Bool = false
    ) {
        self.id = id
        self.name = name
        self.length = length
        self.modified = modified
        self.protection = protection
        self.state = state
        self.isVolatile = isVolatile
    }
}
