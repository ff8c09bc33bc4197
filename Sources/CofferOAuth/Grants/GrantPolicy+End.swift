package import Coffer
import CofferBase

extension GrantPolicy {
    /// Returns whether the policy has ended a session.
    ///
    /// A time that is unknown, because the machine was started again and its clock shows an earlier time,
    /// ends no session.
    ///
    /// - Parameters:
    ///   - record: The session's record.
    ///   - isRenewal: Whether the access token is to be renewed: `onceOnly` permits the first one only.
    ///   - clock: The clock.
    ///   - isCertain: Whether only a time counts that the clock since boot tells, and not one that the wall
    ///     clock tells after the machine was started again: anybody can have set that one.
    /// - Returns: Whether the session has ended.
    package func hasEnded(
        _ record: GrantRecord, isRenewal: Bool, clock: VaultClock, isCertain: Bool = false
    ) -> Bool {
        func isOver(_ time: Duration, since stamp: ClockStamp) -> Bool {
            if isCertain, !stamp.isOfThisBoot(clock) { return false }
            return stamp.elapsed(clock).map { $0 >= time } ?? false
        }
        return switch self {
        case .untilRevoked: false
        case .onceOnly: isRenewal
        case .eachStart: !record.programRun.hasSameBytes(as: GrantRecord.currentRun)
        case .idle(let time): isOver(time, since: record.lastUse)
        case .absolute(let time): isOver(time, since: record.signedIn)
        }
    }
}
