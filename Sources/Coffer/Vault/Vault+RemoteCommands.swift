public import CofferBase
import CofferVault

/// Support for signed commands from an administrator to this vault.
extension Vault {
    /// Verifies a command by checking whether this vault would accept it now. Nothing is changed. A command
    /// that the vault has accepted but not yet carried out remains verified.
    ///
    /// - Parameter command: The command as it was received.
    /// - Returns: The verified command, to pass to ``execute(_:)``.
    /// - Throws: The error for the first failed check, in this order: `orderUnknownKey` if the signer's key
    ///   is not pinned; `orderBadSignature` if the signature is invalid; `orderForeign` if the command is for
    ///   another vault or device; `orderCounterOutOfRange` if the counter is outside the allowed range;
    ///   `orderReplayed` if the same or a higher counter was already accepted; `orderNotYetValid` if the
    ///   issue time is in the future; `orderExpired` if the command has expired. Also `wiped` or `corrupt`.
    public func verify(_ command: SignedCommand) async throws(CofferError) -> VerifiedCommand {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.verify(command) }
    }

    /// Carries out a command, whether the vault is locked or unlocked. The command is verified again first,
    /// so if several processes have the same command, only one of them carries it out.
    ///
    /// The command's counter, and the vault that the command is for, are stored before anything is erased. A
    /// later crash does not stop the erasure: the next process that opens the vault carries out the command.
    /// A vault that was created in that vault's place is not erased.
    ///
    /// - Parameter command: The command that ``verify(_:)`` returned.
    /// - Returns: The result of carrying out the command.
    /// - Throws: The errors that ``verify(_:)`` and ``wipe(_:reason:)`` throw; `refused` if the command would
    ///   pin a 17th key or remove the last one; `alreadyExists` if the key to pin is already pinned; `absent`
    ///   if the key to remove is not pinned or if the user has no namespace; `busy` if a command to erase
    ///   everything, or too many other commands, are still pending.
    @discardableResult
    public func execute(_ command: VerifiedCommand) async throws(CofferError) -> RemoteCommand.Outcome {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.execute(command) }
    }

    /// Carries out a command on the vault at `location`, even if an earlier attempt was interrupted.
    ///
    /// - Parameters:
    ///   - command: The command as it was received.
    ///   - location: The vault's directory.
    ///   - clock: The clock that the vault uses.
    ///   - interaction: Whether the user's desktop keyring may prompt the user.
    /// - Returns: The result of carrying out the command.
    /// - Throws: The errors that ``execute(_:)`` and ``init(at:clock:interaction:)`` throw.
    public static func execute(
        _ command: SignedCommand, at location: VaultLocation, clock: VaultClock = .system,
        interaction: PromptPolicy = .never
    ) async throws(CofferError) -> RemoteCommand.Outcome {
        try await BlockingExecutor.run { _ throws(CofferError) in
            let core = try Vault.openCore(
                at: location, clock: clock, interaction: interaction, allowingCorruptKeybag: true)
            return try core.execute(core.verify(command))
        }
    }

    // MARK: Keys

    /// Returns the keys whose commands this vault accepts, in the order in which they were pinned.
    ///
    /// - Throws: `wiped` or `corrupt`.
    public func administratorKeys() async throws(CofferError) -> [PinnedKey] {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.readRemoteCommandRecord()?.keys ?? []
        }
    }

    /// Pins an administrator's key: from now on, this vault accepts commands and policies signed with it.
    /// Only the owner can pin a key, so the vault must be unlocked.
    ///
    /// - Parameters:
    ///   - key: The public key of an administrator, who may then erase this vault and set rules for it.
    ///   - label: A name for the key: up to 64 bytes without control characters.
    /// - Throws: `alreadyExists` if the key is already pinned; `refused` if 16 keys are already pinned, or if
    ///   the vault obeys a signed policy, which the key's holder could replace and which therefore needs
    ///   ``pinAdministratorKey(_:label:passcode:)``; `policyInvalid` if that policy cannot be read;
    ///   `invalidInput` if the label is invalid; `busy` if another process holds the vault's lock for too
    ///   long; `locked` or `wiped`.
    public func pinAdministratorKey(_ key: AdministratorKey, label: String = "") async throws(CofferError) {
        try RemoteCommandRecord.checkLabel(label)
        let core = core
        try await changeRemoteCommandRecord { (record, now) throws(CofferError) in
            try record.pin(key, label: label, at: now)
            guard try core.signedPolicy() == nil else {
                throw CofferError(
                    .refused,
                    "This vault obeys a signed policy, which the holder of another key could replace, so "
                        + "only the passcode adds a key.", remedy: .enterPasscode)
            }
        }
    }

    /// Removes a pinned key: from now on, this vault accepts no commands signed with it. Only the owner can
    /// remove a key, so the vault must be unlocked.
    ///
    /// - Parameter key: The administrator's public key.
    /// - Throws: `absent` if the key is not pinned; `refused` if the signed policy in force is signed with
    ///   it, which needs ``removeAdministratorKey(_:passcode:)``; `policyInvalid` if that policy cannot be
    ///   read; `busy` if another process holds the vault's lock for too long; `locked` or `wiped`.
    public func removeAdministratorKey(_ key: AdministratorKey) async throws(CofferError) {
        let core = core
        try await changeRemoteCommandRecord { (record, _) throws(CofferError) in
            guard try !core.hasSignedPolicy(key) else {
                throw CofferError(
                    .refused,
                    "The signed policy that this vault obeys is signed with this key, so only the passcode "
                        + "removes it.", remedy: .enterPasscode)
            }
            try record.unpin(key)
        }
    }

    // MARK: The dead-man's switch

    /// Returns the dead-man's switch; `nil` if it is off, as in every new vault.
    ///
    /// - Throws: `wiped` or `corrupt`.
    public func deadManSwitch() async throws(CofferError) -> DeadManSwitch? {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.readRemoteCommandRecord()?.deadManSwitch
        }
    }

    /// Sets the dead-man's switch or turns it off. The time without a heartbeat is counted from this call.
    ///
    /// - Parameter policy: The new dead-man's switch; `nil` to turn the switch off.
    /// - Throws: `refused` if no key is pinned, because no heartbeat could be accepted; `busy` if another
    ///   process holds the vault's lock for too long; `locked` or `wiped`.
    public func setDeadManSwitch(_ policy: DeadManSwitch?) async throws(CofferError) {
        let clock = core.clock
        try await changeRemoteCommandRecord { (record, _) throws(CofferError) in
            guard policy == nil || !record.keys.isEmpty else {
                throw CofferError(
                    .refused,
                    "The dead-man's switch requires a pinned administrator's key because heartbeats are "
                        + "signed. Pin a key first.")
            }
            record.deadManSwitch = policy
            record.heartbeat.restart(clock)
        }
    }

    /// Returns the time that the dead-man's switch has counted since the last heartbeat; `nil` while the
    /// switch is off.
    ///
    /// - Throws: `wiped` or `corrupt`.
    public func timeSinceHeartbeat() async throws(CofferError) -> Duration? {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            guard let record = try core.readRemoteCommandRecord(), record.deadManSwitch != nil else {
                return nil
            }
            return record.heartbeat.passed(core.clock)
        }
    }

    /// Finishes pending commands, checks the dead-man's switch and records the time, as every opening of the
    /// vault does.
    ///
    /// Long-lived programs should call this method regularly: the time between the last check and the end of
    /// a boot does not count.
    ///
    /// - Throws: `wiped` if the vault was erased; if a pending command to erase everything fails, that
    ///   command's error.
    public func checkHeartbeat() async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in try core.processPendingCommands() }
    }

    /// Changes the command record on behalf of the owner; an unlocked vault shows that the caller is the
    /// owner.
    private func changeRemoteCommandRecord(
        _ change: @escaping @Sendable (inout RemoteCommandRecord, _ now: UInt64) throws(CofferError) -> Void
    ) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in
            guard core.keys.isUnlocked else {
                throw core.keys.isWiped ? CofferError.wiped : CofferError.locked
            }
            try core.changeRemoteCommandRecord { (record) throws(CofferError) in
                try change(&record, core.wallSeconds)
            }
        }
    }
}
