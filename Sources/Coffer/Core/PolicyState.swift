import CofferBase
import CofferVault
import Synchronization

/// The administrator's policy that a vault obeys: read when the vault is opened and at each unlock, and
/// unchanged in between.
final class PolicyState: Sendable {
    /// A policy that was read, with the values that each use of a key needs.
    private struct Reading {
        let policy: Result<ManagedPolicy, CofferError>
        let inactivity: Int?
        let attemptLimit: Int?

        init(_ sources: PolicySources, inactivity own: Int?) {
            policy = Result { () throws(CofferError) in try sources.read() }
            inactivity = (try? policy.get()).map { $0.inactivity(with: own) } ?? own
            attemptLimit = (try? policy.get())?.attemptLimit
        }
    }

    private let sources: PolicySources
    private let current: Mutex<Reading>
    /// The vault's own time in seconds without use after which it locks, as read when it was opened.
    private let ownInactivity: Int?
    /// Whether no unlock was tried since the vault was opened.
    private let isJustOpened = Atomic(true)

    init(_ sources: PolicySources, inactivity: Int?) {
        self.sources = sources
        ownInactivity = inactivity
        current = Mutex(Reading(sources, inactivity: inactivity))
    }

    /// Returns the policy.
    ///
    /// - Throws: `policyInvalid` if it could not be read, trusted or understood.
    func policy() throws(CofferError) -> ManagedPolicy { try current.withLock { $0.policy }.get() }

    /// Reads the policy again if cached keys unlock the vault, unless it was opened just before. A policy
    /// that cannot be read does not prevent such an unlock, as it does not end an open session.
    func noteCachedKeys(unlocking isUnlocking: Bool) {
        guard !isJustOpened.exchange(false, ordering: .relaxed), isUnlocking else { return }
        _ = try? reread()
    }

    /// Reads the policy again, for an unlock.
    func reread() throws(CofferError) -> ManagedPolicy {
        isJustOpened.store(false, ordering: .relaxed)
        let read = Reading(sources, inactivity: ownInactivity)
        current.withLock { $0 = read }
        return try read.policy.get()
    }

    /// The error that prevented reading the policy; `nil` if it was read.
    var fault: CofferError? {
        guard case .failure(let fault) = current.withLock({ $0.policy }) else { return nil }
        return fault
    }

    /// Whether the policy could be read.
    var isKnown: Bool { fault == nil }

    /// The policy's limit of wrong passcodes; `nil` if there is none or the policy could not be read, in
    /// which case no passcode is evaluated.
    var attemptLimit: Int? { current.withLock { $0.attemptLimit } }

    /// The time in seconds without use after which the vault locks; `nil` for never.
    var inactivity: Int? { current.withLock { $0.inactivity } }

    /// Returns the shorter one of a vault's own time without use and the policy's; `nil` for never.
    func inactivity(with own: Int?) -> Int? { (try? policy()).map { $0.inactivity(with: own) } ?? own }
}
