import Coffer

/// The reason for which a caller asks for a renewed access token.
package enum RefreshNeed: Sendable, Equatable {
    /// The access token must be valid for this time.
    case due(minimumLife: Duration)
    /// A resource server refused the access token of this version; `nil` if there was none.
    case rejected(version: UInt64?)
    /// The user wants a new access token.
    case always

    /// Returns whether an access token is what the caller needs.
    func isMet(by access: GrantAccess?, _ clock: VaultClock) -> Bool {
        guard let access else { return false }
        switch self {
        case .due(let life): return !access.isDue(clock, minimumLife: life)
        case .rejected(let version): return access.info.version != version && access.isAlive(clock)
        case .always: return false
        }
    }
}
