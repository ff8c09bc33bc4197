public import CofferBase
public import CofferVault

extension Vault {
    /// Opens the vault at `location` and unlocks it, or creates a vault if there is none. If several
    /// processes call this method at the same time, one of them creates the vault, and all of them open it.
    ///
    /// A vault is created only if opening throws `notInitialised` or, with `replacingWiped`, `wiped`. After
    /// any other error, there may be a vault that cannot be read now, so nothing is changed.
    ///
    /// To ask a person for the passcode, use
    /// ``openOrCreate(at:options:clock:interaction:replacingWiped:asking:)``, which says whether it is new.
    ///
    /// - Parameters:
    ///   - location: The vault's directory; it is created if it does not exist.
    ///   - options: The settings for a new vault. An existing vault keeps its own settings.
    ///   - clock: The clock that the vault uses.
    ///   - interaction: Whether the user's desktop keyring may prompt the user.
    ///   - replacingWiped: Whether to create a new vault in place of one that was wiped. A wipe during this
    ///     call, such as one that the tenth wrong passcode causes, still throws `wiped`.
    ///   - passcode: The passcode for the existing or new vault; `nil` for none. An existing vault without a
    ///     passcode ignores it.
    /// - Returns: The open vault, unlocked.
    /// - Throws: `wiped` if the vault was wiped and `replacingWiped` is not set; otherwise, the errors that
    ///   ``init(at:clock:interaction:)`` and ``unlock(with:)`` throw for an existing vault, or that
    ///   ``create(at:options:passcode:clock:interaction:)`` throws for a new one.
    public static func openOrCreate(
        at location: VaultLocation, options: VaultOptions = VaultOptions(), clock: VaultClock = .system,
        interaction: PromptPolicy = .never, replacingWiped: Bool = false, passcode: Passcode?
    ) async throws(CofferError) -> Vault {
        let existing = try await openIfPresent(
            at: location, clock: clock, interaction: interaction, ignoringWiped: replacingWiped)
        if let existing {
            // After this, `wiped` means the tenth wrong passcode: the vault was not wiped before.
            try await existing.unlock(with: passcode)
            return existing
        }
        do throws(CofferError) {
            return try await create(
                at: location, options: options, passcode: passcode, clock: clock, interaction: interaction)
        } catch {
            // Another process created it in the meantime. The vault of a user inside a wiped one has the same
            // code, and its owner has to erase it first.
            guard error.code == .alreadyExists, error.remedy != .eraseUserVault else { throw error }
        }
        let created = try await Vault(at: location, clock: clock, interaction: interaction)
        try await created.unlock(with: passcode)
        return created
    }

    /// Opens the vault at `location` and unlocks it, or creates one if there is none, with a passcode that
    /// the closure asks for. Otherwise the same as
    /// ``openOrCreate(at:options:clock:interaction:replacingWiped:passcode:)``.
    ///
    /// The closure learns whether the vault is new. Ask for the passcode of a new vault twice: nobody can
    /// open a vault whose only passcode has a typing mistake.
    ///
    /// ```swift
    /// let vault = try await Vault.openOrCreate(at: .default(for: "hello")) { isNew in
    ///     try isNew ? .readNewFromTerminal() : .readFromTerminal()
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - location: The vault's directory; it is created if it does not exist.
    ///   - options: The settings for a new vault. An existing vault keeps its own settings.
    ///   - clock: The clock to use.
    ///   - interaction: Whether the user's desktop keyring may prompt the user.
    ///   - replacingWiped: Whether to create a new vault in place of one that was wiped.
    ///   - passcode: Returns the passcode; called once, and not at all for a vault without a passcode. It may
    ///     throw errors of any type, after which nothing is changed.
    /// - Returns: The open vault, unlocked.
    /// - Throws: The error that `passcode` throws; otherwise the same errors as with a passcode that was
    ///   asked for before.
    public static func openOrCreate(
        at location: VaultLocation, options: VaultOptions = VaultOptions(), clock: VaultClock = .system,
        interaction: PromptPolicy = .never, replacingWiped: Bool = false,
        asking passcode: (_ isNew: Bool) async throws -> Passcode
    ) async throws -> Vault {
        let existing = try await openIfPresent(
            at: location, clock: clock, interaction: interaction, ignoringWiped: replacingWiped)
        guard let existing else {
            let new = try await passcode(true)
            return try await openOrCreate(
                at: location, options: options, clock: clock, interaction: interaction,
                replacingWiped: replacingWiped, passcode: new)
        }
        do throws(CofferError) {
            try await existing.unlock()
            return existing
        } catch {
            guard error.code == .locked else { throw error }
        }
        try await existing.unlock(with: passcode(false))
        return existing
    }

    /// Opens the vault in the locked state; returns `nil` if there is none or, with `ignoringWiped`, if it
    /// was wiped.
    private static func openIfPresent(
        at location: VaultLocation, clock: VaultClock, interaction: PromptPolicy, ignoringWiped: Bool
    ) async throws(CofferError) -> Vault? {
        do throws(CofferError) {
            return try await Vault(at: location, clock: clock, interaction: interaction)
        } catch {
            guard error.code == .notInitialised || ignoringWiped && error.code == .wiped else { throw error }
            return nil
        }
    }
}
