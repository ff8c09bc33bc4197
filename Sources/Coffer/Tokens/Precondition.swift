/// A condition that a name's stored value must meet before it is changed. The condition is checked in the
/// same step as the change.
public enum Precondition: Sendable, Hashable {
    /// The name may have any value, or none.
    case any
    /// The name has no value.
    case absent
    /// The stored value has this version.
    case version(UInt64)

    /// Returns whether a value with this version meets the condition; a `nil` version stands for no value.
    func isMet(by version: UInt64?) -> Bool {
        switch self {
        case .any: true
        case .absent: version == nil
        case .version(let wanted): version == wanted
        }
    }
}
