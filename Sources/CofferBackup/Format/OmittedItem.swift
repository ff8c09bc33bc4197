/// An item of the vault that a backup does not contain, or contains in a later state than the others.
public struct OmittedItem: Sendable, Equatable {
    /// The reason.
    public enum Reason: String, Sendable, CaseIterable {
        /// The item is damaged in the vault.
        case damaged
        /// The item was removed, or got another class, while the backup was written.
        case gone
        /// The item was changed while the backup was written. The backup contains its later state.
        case newer
        /// The database has no content yet.
        case empty
        /// The item is a key pair. Its private key never leaves the vault.
        case notExportable
    }

    /// The path that the item has, or would have, in the backup.
    public let path: String
    /// The reason.
    public let reason: Reason

    /// Creates a value, for use in an app's test doubles.
    public init(path: String, reason: Reason) {
        self.path = path
        self.reason = reason
    }
}
