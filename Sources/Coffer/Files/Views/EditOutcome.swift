/// The outcome of editing a view copy.
public enum EditOutcome: Sendable, Equatable {
    /// The copy was not changed.
    case unchanged
    /// The vault now stores the edited content.
    case saved
}
