/// The state of the container of a file that the index lists.
public enum FileState: String, Sendable {
    /// The container exists.
    case stored
    /// Another program deleted the container. Reading the file is an error, and removing the file clears its
    /// index entry.
    case missing
}
