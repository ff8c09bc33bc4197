/// The state of an indexed file's container.
public enum FileState: String, Sendable {
    /// The container exists.
    case stored
    /// Another program deleted the container. Reading the file throws `missing`, and removing the file clears
    /// its index entry.
    case missing
}
