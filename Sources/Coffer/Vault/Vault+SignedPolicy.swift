public import CofferBase
public import CofferVault

/// Support for policies that an administrator signed for this vault.
extension Vault {
    /// Returns the signed policy that this vault obeys from the next unlock on; `nil` if there is none. You
    /// can call this method while the vault is locked.
    ///
    /// - Throws: `policyInvalid` if the policy cannot be read; `wiped`.
    public func signedPolicy() async throws(CofferError) -> SignedPolicy? {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.signedPolicy() }
    }

    /// Verifies a policy by checking whether this vault would take it now. Nothing is changed.
    ///
    /// - Parameter policy: The policy as it was received.
    /// - Returns: The policy's document.
    /// - Throws: The error for the first failed check, in this order: `orderUnknownKey` if the signer's key
    ///   is not pinned; `orderBadSignature` if the signature is invalid; `orderForeign` if the policy is for
    ///   another vault or device; `orderCounterOutOfRange` if the counter is outside the allowed range;
    ///   `orderReplayed` if a policy with the same or a higher counter was already taken; `orderNotYetValid`
    ///   if the issue time is in the future; `orderExpired` if the policy has expired; `policyInvalid`, with
    ///   all findings, if the document has mistakes. Also `wiped` or `corrupt`.
    @discardableResult
    public func verifyPolicy(_ policy: SignedPolicy) async throws(CofferError) -> PolicyDocument {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.verify(policy) }
    }

    /// Takes a policy, whether the vault is locked or unlocked. The vault obeys it from the next unlock on,
    /// in place of the signed policy that it has taken before.
    ///
    /// Each policy is taken once. It stays when it expires, and when a signed command removes the key that
    /// signed it; it goes by a newer one, or when the owner removes that key with
    /// ``removeAdministratorKey(_:passcode:)``. Releases that know no signed policies refuse this vault from
    /// now on (`unsupportedVersion`).
    ///
    /// If the record of the last policy is lost, the counter of any valid policy is accepted, unless an
    /// anchor knows a higher one, and the policy replaces the record.
    ///
    /// - Parameter policy: The policy as it was received.
    /// - Returns: The policy's document.
    /// - Throws: The errors of ``verifyPolicy(_:)``; `busy` if another process holds the vault's lock for too
    ///   long; `noSpace` or `readOnly`.
    @discardableResult
    public func takePolicy(_ policy: SignedPolicy) async throws(CofferError) -> PolicyDocument {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.take(policy) }
    }

    /// Pins an administrator's key while the vault obeys a signed policy. The key's holder can then replace
    /// that policy, so only the owner can pin a key, with the passcode, also while a policy refuses to open
    /// the vault.
    ///
    /// - Parameters:
    ///   - key: The public key of an administrator, who may then erase this vault and set rules for it.
    ///   - label: A name for the key: up to 64 bytes without control characters.
    ///   - passcode: The vault's passcode; `nil` if none is set. A wrong one counts as any wrong passcode.
    /// - Throws: `alreadyExists` if the key is already pinned; `refused` if 16 keys are already pinned; the
    ///   errors of ``unlock(with:)`` for the passcode; `policyInvalid` if the policy in force cannot be read;
    ///   `invalidInput` if the label is invalid; `busy`.
    public func pinAdministratorKey(
        _ key: AdministratorKey, label: String = "", passcode: Passcode?
    ) async throws(CofferError) {
        try RemoteCommandRecord.checkLabel(label)
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in
            try core.pin(key, label: label, passcode: passcode)
        }
    }

    /// Removes a pinned key, and the signed policy in force if this key signed it. Only the owner can do so,
    /// with the passcode, also while a policy refuses to open the vault.
    ///
    /// The rules of the removed policy end at the next unlock. No earlier policy can be taken again.
    ///
    /// - Parameters:
    ///   - key: The administrator's public key.
    ///   - passcode: The vault's passcode; `nil` if none is set. A wrong one counts as any wrong passcode.
    /// - Throws: `absent` if the key is neither pinned nor that of the policy in force; the errors of
    ///   ``unlock(with:)`` for the passcode; `policyInvalid` if the policy in force cannot be read; `busy`.
    public func removeAdministratorKey(
        _ key: AdministratorKey, passcode: Passcode?
    ) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in
            try core.remove(key, passcode: passcode)
        }
    }
}
