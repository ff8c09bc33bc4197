public import CofferBase
public import CofferVault

extension Vault {
    /// Opens the vault at `location` and unlocks it, or creates a vault if there is none. If several
    /// processes call this method at the same time, one of them creates the vault, and all of them open it.
    ///
    /// A vault is created only if opening throws `notInitialised` or, with `replacingWiped`, `wiped`. After
    /// any other error, there may be a vault that cannot be read now, so nothing is changed.
    ///
    /// ```swift
    /// let vault = try await Vault.openOrCreate(at: .default(for: "hello"), passcode: .readFromTerminal())
    /// ```
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
