/// The strength with which a value of a policy holds.
public enum PolicyGrade: String, Sendable, CaseIterable {
    /// The library obeys the value. A person who has the keys can use another program.
    case enforced
    /// The library only reports the value: the application must act on it.
    case offered
}
