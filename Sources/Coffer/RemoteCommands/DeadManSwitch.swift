public import CofferBase

/// A dead-man's switch: the action to take if no signed heartbeat arrives for a certain time.
///
/// Time is counted with CLOCK_BOOTTIME while the machine runs or sleeps, and across boots. The counted time
/// is never more than the time that has passed, even if several machines check the vault in turn. It includes
/// neither the time during which the machine was off nor the time between a boot's last check of the vault
/// and the end of that boot; to keep the latter short, call ``Vault/checkHeartbeat()`` regularly. If the boot
/// cannot be identified, for example without /proc, nothing is erased; instead, every key is evicted.
public struct DeadManSwitch: Sendable, Hashable {
    /// The action to take once the limit has passed without a heartbeat.
    public enum Action: String, Sendable, CaseIterable {
        /// Evict every key, at each check, until a heartbeat arrives.
        case lock
        /// Erase the vault.
        case wipe
    }

    /// The action to take once the limit has passed without a heartbeat.
    public let action: Action
    /// The time after the last heartbeat at which the action is taken, in whole seconds.
    public let limit: Duration

    /// Creates a dead-man's switch.
    ///
    /// - Parameters:
    ///   - action: The action to take once the limit has passed without a heartbeat.
    ///   - limit: The time after the last heartbeat at which to take the action, from one hour to ten years.
    /// - Throws: `invalidInput` if the limit is out of range.
    public init(_ action: Action, after limit: Duration) throws(CofferError) {
        guard Self.limits.contains(limit.components.seconds) else {
            throw CofferError(.invalidInput, "The time limit must be between one hour and ten years.")
        }
        self.action = action
        self.limit = .seconds(limit.components.seconds)
    }

    /// The valid limits, in seconds.
    static let limits: ClosedRange<Int64> = 3600...3653 * 86_400
}
