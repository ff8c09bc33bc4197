/// What became of a copy that could be edited.
public enum EditOutcome: Sendable, Equatable {
    /// Nobody wrote to it.
    case unchanged
    /// The file has the new content.
    case saved
}
