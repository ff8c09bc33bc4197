import CofferBase
import CofferEngine
import CofferVault
import FoundationEssentials

/// The administrator's policy at an unlock.
extension VaultCore {
    /// Reads the policy and checks everything but the passcode.
    ///
    /// - Throws: `policyInvalid`; `refused` if the policy does not allow opening this vault here.
    func policyForOpening() throws(CofferError) -> ManagedPolicy {
        let policy = try managed.reread()
        guard !policy.isEmpty else { return policy }
        try policy.requireMachine()
        try policy.requireKeyring(activeStorage.backend())
        try policy.requireMedium(of: home.openVault())
        return policy
    }

    /// Throws `refused` if class keys may not be cached for a time in seconds because the policy locks vaults
    /// earlier.
    func requireTime(_ seconds: Int?) throws(CofferError) {
        let policy = try managed.policy()
        guard let seconds, let limit = policy.inactivity(with: nil), seconds > limit else { return }
        throw policy.refusal(
            .inactivityMinutes,
            "The administrator's policy does not allow caching keys for longer than \(limit / 60) "
                + "\(limit == 60 ? "minute" : "minutes")")
    }

    /// Returns the expiry date of a token that is stored now: the given one, or an earlier one that the
    /// policy requires.
    func expiry(_ given: Date?) throws(CofferError) -> Date? {
        guard let life = try managed.policy().number(.tokenLifetimeSeconds) else { return given }
        let now = Date(nanosecondsSince1970: clock.wallClock().nanoseconds)
        let latest = now.addingTimeInterval(Double(life))
        return given.map { min($0, latest) } ?? latest
    }

    /// Returns whether a stored token has the description of one that is stored again, or differs from it
    /// only in an expiry date that the policy brought forward.
    func describesTheSame(_ old: TokenInfo, as new: TokenInfo) throws(CofferError) -> Bool {
        guard try managed.policy().number(.tokenLifetimeSeconds) != nil, let earlier = old.expires,
            new.expires.map({ earlier <= $0 }) ?? true
        else { return old.describesTheSame(as: new) }
        let shortened = TokenInfo(
            id: new.id, version: new.version, protection: new.protection, stored: new.stored,
            expires: earlier, scopes: new.scopes, attributes: new.attributes)
        return old.describesTheSame(as: shortened)
    }

    /// Stores the digest of the administrator's files, so that files that vanish are noticed, and marks the
    /// keybag if a signed policy was taken just before a crash. The caller holds the vault directory's lock.
    /// A record that cannot be written prevents no unlock.
    func notePolicy(_ policy: ManagedPolicy, _ keybag: Keybag, in vault: borrowing Descriptor) {
        if !keybag.features.contains(.signedPolicy), (try? PolicyRecord.hasSignedForm(in: vault)) == true {
            try? mark(.signedPolicy, in: vault)
        }
        guard PolicyRecord.note(policy.digest, device: device, in: vault) else { return }
        events.post(VaultEvent(.policyChanged))
    }

    /// Returns whether the policy is another one than at the last unlock. A record that cannot be read counts
    /// as a change.
    func isPolicyChanged() throws(CofferError) -> Bool {
        let vault = try home.openVault()
        let digest = try managed.policy().digest
        guard try vault.status(of: PolicyRecord.record.name) != nil else { return false }
        guard let stored = try? PolicyRecord.read(device: device, in: vault)?.payload else { return true }
        return stored.digest != digest
    }
}
