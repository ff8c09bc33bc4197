/// A condition on the value that is stored under a name, checked in the same step as the change.
public enum Precondition: Sendable, Hashable {
    /// Any value, or none.
    case any
    /// The name has no value.
    case absent
    /// The stored value has this version.
    case version(UInt64)

    /// Whether a value with this version meets the condition; `nil` stands for no value.
    func isMet(by version: UInt64?) -> Bool {
        switch self {
        case .any: true
        case .absent: version == nil
        case .version(let wanted): version == wanted
        }
    }
}
