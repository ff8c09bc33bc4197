/// The result of storing a token.
public enum PutResult: Sendable, Hashable {
    /// The value was stored with the given version.
    case stored(version: UInt64)
    /// The token's class is locked, so the value is sealed and remains pending until an unlock. It has no
    /// version yet.
    case queued

    /// The version under which the value was stored; `nil` if the value is pending.
    public var version: UInt64? {
        switch self {
        case .stored(let version): version
        case .queued: nil
        }
    }
}
