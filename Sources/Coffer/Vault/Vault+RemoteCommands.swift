public import CofferBase
import CofferVault

/// Signed commands from an administrator to this vault.
extension Vault {
    /// Checks whether this vault would accept a command now. Changes nothing.
    ///
    /// - Parameter command: The command as it was received.
    /// - Returns: The verified command, to pass to ``execute(_:)``.
    /// - Throws: In the order of the checks: `orderUnknownKey`, `orderBadSignature`, `orderForeign`,
    ///   `orderCounterOutOfRange`, `orderReplayed`, `orderNotYetValid`, `orderExpired`; `wiped`, `corrupt`.
    public func verify(_ command: SignedCommand) async throws(CofferError) -> VerifiedCommand {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.verify(command) }
    }

    /// Carries out a command, whether the vault is locked or unlocked. Verifies the command again first, so
    /// that if several processes have the same command, only one carries it out.
    ///
    /// The command's counter, and the vault that the command is for, are stored before anything is erased. A
    /// crash after that does not stop the erasure: the next process that opens the vault carries the command
    /// out. A vault created in its place is not erased.
    ///
    /// - Parameter command: The command that ``verify(_:)`` returned.
    /// - Returns: The result of carrying out the command.
    /// - Throws: As ``verify(_:)`` and ``wipe(_:reason:)``; `refused`, `alreadyExists` or `absent` for a
    ///   command that adds or removes a key; `absent` for a user without a namespace; `busy` while a command
    ///   to erase everything, or too many other commands, are pending.
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
    ///   - clock: The clock to use.
    ///   - interaction: Whether the user's desktop keyring may prompt the user.
    /// - Returns: The result of carrying out the command.
    /// - Throws: As ``execute(_:)`` and ``init(at:clock:interaction:)``.
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
    /// - Throws: `wiped`, `corrupt`.
    public func administratorKeys() async throws(CofferError) -> [PinnedKey] {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.readRemoteCommandRecord()?.keys ?? []
        }
    }

    /// Accepts commands signed with `key` from now on. Only the owner can pin a key: the vault must be
    /// unlocked.
    ///
    /// - Parameters:
    ///   - key: The public key of an administrator who may then erase this vault.
    ///   - label: A name for the key: up to 64 bytes without control characters.
    /// - Throws: `locked`; `alreadyExists`; `refused` if 16 keys are already pinned; `invalidInput` for an
    ///   invalid label.
    public func pinAdministratorKey(_ key: AdministratorKey, label: String = "") async throws(CofferError) {
        guard label.utf8.count <= RemoteCommandRecord.maxLabelLength, CommandEncoding.isReason(label) else {
            throw CofferError(.invalidInput, "A label must have at most 64 bytes and no control characters.")
        }
        try await changeRemoteCommandRecord { (record, now) throws(CofferError) in
            try record.pin(key, label: label, at: now)
        }
    }

    /// Stops accepting commands signed with `key`. Only the owner can remove a key: the vault must be
    /// unlocked.
    ///
    /// - Throws: `locked`, `absent`.
    public func removeAdministratorKey(_ key: AdministratorKey) async throws(CofferError) {
        try await changeRemoteCommandRecord { (record, _) throws(CofferError) in try record.unpin(key) }
    }

    // MARK: The dead-man's switch

    /// Returns the dead-man's switch; `nil` if it is off, as in every new vault.
    ///
    /// - Throws: `wiped`, `corrupt`.
    public func deadManSwitch() async throws(CofferError) -> DeadManSwitch? {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.readRemoteCommandRecord()?.deadManSwitch
        }
    }

    /// Sets the dead-man's switch, or switches it off with `nil`. The time without a heartbeat is counted
    /// from this call.
    ///
    /// - Throws: `locked`; `refused` while no key is pinned, because no heartbeat could be accepted.
    public func setDeadManSwitch(_ policy: DeadManSwitch?) async throws(CofferError) {
        let clock = core.clock
        try await changeRemoteCommandRecord { (record, _) throws(CofferError) in
            guard policy == nil || !record.keys.isEmpty else {
                throw CofferError(
                    .refused, "Pin an administrator's key first: without one, no heartbeat is accepted.")
            }
            record.deadManSwitch = policy
            record.heartbeat.restart(clock)
        }
    }

    /// Returns the time that the dead-man's switch has counted since the last heartbeat; `nil` while the
    /// switch is off.
    ///
    /// - Throws: `wiped`, `corrupt`.
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
    /// Long-lived programs should call this from time to time: the time between the last check and the end of
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
