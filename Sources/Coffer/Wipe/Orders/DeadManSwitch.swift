public import CofferBase

/// The dead-man's switch: what happens when no signed contact has come in for so long.
///
/// Time counts while the machine runs or sleeps, by CLOCK_BOOTTIME and across boots, and never more than has
/// passed, also on machines that look in turns. The time that the machine was off does not count, nor does
/// the end of a boot after the last look at the vault: see ``Vault/checkHeartbeat()``. Where the boot cannot
/// be told, as without /proc, nothing is erased: the keys are dropped.
public struct DeadManSwitch: Sendable, Hashable {
    /// What to do when the time is over.
    public enum Action: String, Sendable, CaseIterable {
        /// Drop every key, at each look, until a contact comes in.
        case lock
        /// Erase the vault.
        case wipe
    }

    /// What to do when the time is over.
    public let action: Action
    /// So long after the last contact, in whole seconds.
    public let limit: Duration

    /// A switch.
    ///
    /// - Parameters:
    ///   - action: What to do when the time is over.
    ///   - limit: One hour to ten years.
    /// - Throws: `invalidInput` for another limit.
    public init(_ action: Action, after limit: Duration) throws(CofferError) {
        guard Self.limits.contains(limit.components.seconds) else {
            throw CofferError(.invalidInput, "Contact may be missed for one hour to ten years.")
        }
        self.action = action
        self.limit = .seconds(limit.components.seconds)
    }

    /// In seconds.
    static let limits: ClosedRange<Int64> = 3600...3653 * 86_400
}
