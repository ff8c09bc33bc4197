/// Whether the container of a file in the index exists.
public enum FileState: String, Sendable {
    /// The container exists.
    case stored
    /// Another program deleted the container. Reading the file is an error, and removing it clears the entry.
    case missing
}
