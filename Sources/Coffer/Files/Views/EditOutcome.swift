/// The outcome of editing a view copy.
public enum EditOutcome: Sendable, Equatable {
    /// The copy was not written to.
    case unchanged
    /// The file has the new content.
    case saved
}
