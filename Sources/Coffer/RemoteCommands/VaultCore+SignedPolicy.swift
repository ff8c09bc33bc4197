import CofferBase
import CofferEngine
import CofferVault

/// The signed policy of a vault.
///
/// The policy is stored before the keybag says that the vault has one, so a crash between the two steps never
/// leaves a keybag that demands a record that is not there. A policy that was stored counts from then on;
/// taking it again, or the next unlock, marks the keybag.
extension VaultCore {
    /// Returns the signed policy in force; `nil` if there is none.
    ///
    /// - Throws: `policyInvalid` if the record is missing or permanently unreadable.
    func signedPolicy() throws(CofferError) -> SignedPolicy? {
        guard let record = try PolicySources(home: home, device: device).signedRecord(),
            record.signed != nil
        else { return nil }
        return try SignedPolicy.read(record.signedBytes)
    }

    /// Verifies a policy without changing anything, and returns its document.
    func verify(_ policy: SignedPolicy) throws(CofferError) -> PolicyDocument {
        let vault = try home.openVault()
        return try home.mappingMissingFiles { () throws(CofferError) in
            let isMarked = try Self.readKeybag(device: device, in: vault).features.contains(.signedPolicy)
            return try checkedDocument(of: policy, after: try lastPolicy(in: vault, isMarked: isMarked))
        }
    }

    /// Verifies a policy under the vault directory's lock, and stores it.
    func take(_ policy: SignedPolicy) throws(CofferError) -> PolicyDocument {
        let document: PolicyDocument = try home.withExclusiveVault { (vault) throws(CofferError) in
            let keybag = try Keybag.record.read(device: device, in: vault, repairing: true).payload
            let isMarked = keybag.features.contains(.signedPolicy)
            let last = try lastPolicy(in: vault, isMarked: isMarked, repairing: true)
            // An earlier call was interrupted after it had stored the policy.
            if !isMarked, last.stored?.payload.signedBytes == policy.bytes {
                try mark(.signedPolicy, in: vault)
                return try policy.fields.validDocument()
            }
            let document = try checkedDocument(of: policy, after: last)
            var record = last.stored?.payload ?? PolicyRecord(digest: nil)
            try record.take(policy.bytes)
            try record.store(over: last.stored, device: device, in: vault)
            try mark(.signedPolicy, in: vault)
            return document
        }
        events.post(VaultEvent(.policyChanged))
        return document
    }

    /// Pins a key on behalf of the owner, whose passcode is evaluated as an unlock does.
    func pin(_ key: AdministratorKey, label: String, passcode: Passcode?) throws(CofferError) {
        try verify(passcode)
        try changeRemoteCommandRecord { (record) throws(CofferError) in
            try record.pin(key, label: label, at: wallSeconds)
        }
    }

    /// Removes a pinned key on behalf of the owner, whose passcode is evaluated as an unlock does, and then
    /// the signed policy that this key signed. May be repeated after a crash between the two steps.
    func remove(_ key: AdministratorKey, passcode: Passcode?) throws(CofferError) {
        try verify(passcode)
        let isInForce = try hasSignedPolicy(key)
        try changeRemoteCommandRecord { (record) throws(CofferError) in
            do throws(CofferError) {
                try record.unpin(key)
            } catch {
                guard error.code == .absent, isInForce else { throw error }
            }
        }
        guard isInForce else { return }
        try home.withExclusiveVault { (vault) throws(CofferError) in
            let stored = try PolicyRecord.signed(
                device: device, in: vault, isExpected: true, repairing: true)
            // Another process may have taken a policy of another key since.
            guard let stored, stored.payload.signed?.signer == key.bytes else { return }
            var record = stored.payload
            record.removeSigned()
            try record.store(over: stored, device: device, in: vault)
        }
        events.post(VaultEvent(.policyChanged))
    }

    /// Returns whether the signed policy in force is signed with a key.
    func hasSignedPolicy(_ key: AdministratorKey) throws(CofferError) -> Bool {
        try signedPolicy()?.claimedSigner == key
    }

    /// The state that a policy is verified against: the record, and the counter of the last policy.
    private struct LastPolicy {
        var stored: PolicyRecord.Stored?
        var counter: UInt64 = 0
    }

    /// Returns the state that a policy is verified against. A record that is lost for good is replaced by the
    /// next policy; its counter is known only to the record of anchors.
    private func lastPolicy(
        in vault: borrowing Descriptor, isMarked: Bool, repairing: Bool = false
    ) throws(CofferError) -> LastPolicy {
        do throws(CofferError) {
            let stored = try PolicyRecord.signed(
                device: device, in: vault, isExpected: isMarked, repairing: repairing)
            if let stored { return LastPolicy(stored: stored, counter: stored.payload.counter) }
        } catch {
            guard error.code == .policyInvalid, error.remedy == .restorePolicyRecord else { throw error }
            let anchors = try? readAnchors(in: vault)?.payload.generations
            return LastPolicy(counter: anchors?.policy ?? 0)
        }
        // A damaged record of a vault without a signed policy says nothing.
        return LastPolicy(
            stored: try? PolicyRecord.read(device: device, in: vault, repairing: repairing))
    }

    private func checkedDocument(
        of policy: SignedPolicy, after last: LastPolicy
    ) throws(CofferError) -> PolicyDocument {
        let orders = try readRemoteCommandRecord() ?? RemoteCommandRecord(clock)
        let rules = try orders.policyRules(
            vaultID: device.vaultID, now: wallSeconds, newestIssue: last.stored?.payload.newestIssue ?? 0)
        try rules.verify(policy, after: last.counter)
        // Only what an administrator signed is parsed.
        return try policy.fields.validDocument()
    }
}
