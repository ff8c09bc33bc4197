public import CofferBase

/// Signed orders of an administrator, for this vault.
extension Vault {
    /// Whether this vault would take an order now. Changes nothing.
    ///
    /// - Parameter order: What was received.
    /// - Returns: The order to give to ``execute(_:)``.
    /// - Throws: In the order in which it is looked at: `orderUnknownKey`, `orderBadSignature`,
    ///   `orderForeign`, `orderCounterOutOfRange`, `orderReplayed`, `orderNotYetValid`, `orderExpired`;
    ///   `wiped`, `corrupt`.
    public func verify(_ order: SignedCommand) async throws(CofferError) -> VerifiedCommand {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.verify(order) }
    }

    /// Carries out an order, locked or unlocked. It is judged again first: of several who have the same
    /// order, one carries it out.
    ///
    /// Its counter is stored before anything is erased, and the vault that it is for. A crash after that does
    /// not save that vault: whoever opens it next carries the order out. What is made in its place stays.
    ///
    /// - Parameter order: What ``verify(_:)`` made.
    /// - Returns: What was done.
    /// - Throws: As ``verify(_:)`` and ``wipe(_:reason:)``; `refused`, `alreadyExists`, `absent` for keys;
    ///   `absent` for a user; `busy` while an order to erase everything, or too many others, wait.
    @discardableResult
    public func execute(_ order: VerifiedCommand) async throws(CofferError) -> OrderOutcome {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.execute(order) }
    }

    /// Carries out an order on the home at `location`, also one whose carrying out was interrupted.
    ///
    /// - Parameters:
    ///   - order: What was received.
    ///   - location: The home's directory.
    ///   - time: The clocks to go by.
    ///   - interaction: Whether the user's keyring may ask the user.
    /// - Returns: What was done.
    /// - Throws: As ``execute(_:)`` and ``open(at:time:interaction:)``.
    public static func execute(
        _ order: SignedCommand, at location: VaultLocation, time: VaultClock = .system,
        interaction: PromptPolicy = .never
    ) async throws(CofferError) -> OrderOutcome {
        try await BlockingExecutor.run { _ throws(CofferError) in
            let core = try Vault.openCore(
                at: location, time: time, interaction: interaction, forOrders: true)
            return try core.execute(core.verify(order))
        }
    }

    // MARK: Keys

    /// The keys whose orders this vault takes, in the order in which they were pinned.
    ///
    /// - Throws: `wiped`, `corrupt`.
    public func administratorKeys() async throws(CofferError) -> [PinnedKey] {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.readOrderBook()?.keys ?? []
        }
    }

    /// Takes orders signed with `key` from now on. Only the owner does that: the vault must be unlocked.
    ///
    /// - Parameters:
    ///   - key: The key of somebody who may erase this vault.
    ///   - label: What to call it: up to 64 bytes without control characters.
    /// - Throws: `locked`; `alreadyExists`; `refused` when 16 are pinned; `invalidInput` for the label.
    public func pinAdministratorKey(_ key: AdministratorKey, label: String = "") async throws(CofferError) {
        guard label.utf8.count <= RemoteCommandRecord.maxLabelLength, OrderEncoding.isReason(label) else {
            throw CofferError(.invalidInput, "A label has at most 64 bytes and no control characters.")
        }
        try await changeOrderBook { (book, now) throws(CofferError) in
            try book.pin(key, label: label, at: now)
        }
    }

    /// Takes no order signed with `key` any more. Only the owner does that: the vault must be unlocked.
    ///
    /// - Throws: `locked`, `absent`.
    public func removeAdministratorKey(_ key: AdministratorKey) async throws(CofferError) {
        try await changeOrderBook { (book, _) throws(CofferError) in try book.unpin(key) }
    }

    // MARK: The dead-man's switch

    /// What happens when no contact comes in; `nil`, as in every new vault: nothing.
    ///
    /// - Throws: `wiped`, `corrupt`.
    public func contactPolicy() async throws(CofferError) -> DeadManSwitch? {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.readOrderBook()?.contact }
    }

    /// Sets, or with `nil` switches off, what happens when no contact comes in. The time starts now.
    ///
    /// - Throws: `locked`; `refused` while no key is pinned, since then nobody could make contact.
    public func setContactPolicy(_ policy: DeadManSwitch?) async throws(CofferError) {
        let time = core.time
        try await changeOrderBook { (book, _) throws(CofferError) in
            guard policy == nil || !book.keys.isEmpty else {
                throw CofferError(.refused, "Pin the key of somebody who makes contact first.")
            }
            book.contact = policy
            book.clock.restart(time)
        }
    }

    /// Running time since the last contact; `nil` while the switch is off.
    ///
    /// - Throws: `wiped`, `corrupt`.
    public func timeSinceContact() async throws(CofferError) -> Duration? {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            guard let book = try core.readOrderBook(), book.contact != nil else { return nil }
            return book.clock.passed(core.time)
        }
    }

    /// Looks at the dead-man's switch and notes the time, as every opening does. Programs that live long call
    /// it now and then: the time between the last look and the end of a boot does not count.
    ///
    /// - Throws: `wiped` when the time was over and the vault is no more.
    public func checkHeartbeat() async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in try core.processPendingCommands() }
    }

    /// Changes the record for the owner, who shows by the unlocked vault to be it.
    private func changeOrderBook(
        _ change: @escaping @Sendable (inout RemoteCommandRecord, _ now: UInt64) throws(CofferError) -> Void
    ) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in
            guard core.keys.isUnlocked else {
                throw core.keys.isWiped ? CofferError.wiped : CofferError.locked
            }
            try core.changeOrderBook { (book) throws(CofferError) in try change(&book, core.wallSeconds) }
        }
    }
}
