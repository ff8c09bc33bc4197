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
    /// - Returns: Whether the session has ended.
    package func hasEnded(
        _ record: GrantRecord, isRenewal: Bool, clock: VaultClock
    ) -> Bool {
        switch self {
        case .untilRevoked: false
        case .onceOnly: isRenewal
        case .eachStart: !record.programRun.hasSameBytes(as: GrantRecord.currentRun)
        case .idle(let time): record.lastUse.elapsed(clock).map { $0 >= time } ?? false
        case .absolute(let time): record.signedIn.elapsed(clock).map { $0 >= time } ?? false
        }
    }
}
