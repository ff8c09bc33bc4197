/// Whether a file that the index has can be there.
public enum FileState: String, Sendable {
    /// Its container is in the home.
    case stored
    /// Something else than Coffer deleted its container: reading it is an error, and removing it clears the
    /// entry.
    case missing
}
