/// A value of a policy.
public enum PolicyValue: Sendable, Hashable {
    /// A Boolean.
    case flag(Bool)
    /// An integer, in the unit that the key's name states.
    case number(Int)
    /// A text. The quotation marks around an attribute are not part of it.
    case text(String)
    /// A list of texts, such as `https://host` and `https://host:port`.
    case list([String])
}
