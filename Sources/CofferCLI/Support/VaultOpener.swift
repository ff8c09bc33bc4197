import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// Opens and unlocks the vault for commands.
enum VaultOpener {
    /// Opens the vault and leaves it locked.
    static func vault(_ global: GlobalOptions) async throws(CofferError) -> Vault {
        let vault = try await Vault(at: location(global), interaction: global.interaction)
        vault.shareEphemeralTokens()
        return vault
    }

    /// Returns the location of the vault that the options specify: the user's, if they name a user.
    static func location(_ global: GlobalOptions) throws(CofferError) -> VaultLocation {
        let home = try homeLocation(global)
        guard let user = global.user else { return home }
        guard ProgramArguments.isText(user) else {
            throw CofferError(.invalidInput, "The user's name must be UTF-8.")
        }
        return try home.namespace(of: user)
    }

    /// Returns the location of the vault in the vault directory, even if the options name a user.
    static func homeLocation(_ global: GlobalOptions) throws(CofferError) -> VaultLocation {
        VaultLocation(path: try global.homePath())
    }

    /// Opens and unlocks the vault: with the given passcode, with keys that `unlock` cached in the kernel
    /// keyring, without a passcode if none is set, or by asking on the terminal. If there is no terminal,
    /// keys that outlast a lock still open items in their class. `given` is the passcode on `--passcode-fd`
    /// if the caller has already read it.
    static func unlocked(
        _ global: GlobalOptions, with given: Passcode? = nil
    ) async throws(CofferError) -> Vault {
        let vault = try await vault(global)
        try await unlock(vault, global, with: given, isHolding: false) { _ in true }
        return vault
    }

    /// Opens the vault, and unlocks it if that needs no passcode. Never asks for one.
    static func unlockedSilently(_ global: GlobalOptions) async throws(CofferError) -> Vault {
        let vault = try await vault(global)
        if try await !vault.restoreCachedKeys() { try await vault.unlock() }
        return vault
    }

    /// Runs an operation that requires an unlocked vault, for which keys that outlast a lock are not
    /// sufficient. If only such keys are available, the error names the option for the passcode.
    static func withPasscode<Result>(
        _ global: GlobalOptions, _ body: (Vault) async throws(CofferError) -> Result
    ) async throws(CofferError) -> Result {
        let vault = try await unlocked(global)
        do throws(CofferError) {
            return try await body(vault)
        } catch {
            guard error.code == .locked, global.passcodeFd == nil else { throw error }
            throw CofferError(.locked, noTerminal)
        }
    }

    /// Opens and unlocks the vault with keys that can be cached for `duration`: the keys of every class, none
    /// of which is already cached until an exact earlier time.
    static func unlockedForHolding(
        _ global: GlobalOptions, for duration: Duration?
    ) async throws(CofferError) -> Vault {
        let vault = try await vault(global)
        do throws(CofferError) {
            try await unlock(vault, global, isHolding: true) { $0.canCacheKeys(for: duration) }
            guard vault.canCacheKeys(for: duration) else { throw CofferError(.locked, requiresPasscode) }
        } catch {
            vault.withdrawHolding()
            throw error
        }
        return vault
    }

    private static let requiresPasscode =
        "Caching the keys for this time requires the passcode. Specify it on a terminal or with "
        + "--passcode-fd."
    static let noTerminal =
        "The vault is locked, and there is no terminal to ask for its passcode. Specify it with "
        + "--passcode-fd, or run coffer unlock first."

    /// Unlocks a vault; cached keys in the kernel keyring are sufficient if `isEnough` returns `true`. With
    /// `isHolding`, a later attempt to cache the keys detects if another process has locked the vault since
    /// this call.
    private static func unlock(
        _ vault: Vault, _ global: GlobalOptions, with known: Passcode? = nil, isHolding: Bool,
        _ isEnough: (Vault) -> Bool
    ) async throws(CofferError) {
        let suppliedPasscode: Passcode? = if let known { known } else { try passcode(global) }
        if isHolding { try await vault.announceHolding() }
        if let passcode = suppliedPasscode { return try await unlock(vault, with: passcode) }
        if try await vault.restoreCachedKeys(), isEnough(vault) { return }
        do throws(CofferError) {
            try await vault.unlock()
        } catch {
            guard error.code == .locked else { throw error }
            guard let typed = try await typedPasscode("Passcode: ", of: vault) else {
                guard vault.hasKeys else { throw CofferError(.locked, noTerminal) }
                return
            }
            // A lock that occurred during the passcode prompt precedes this unlock.
            if isHolding { try await vault.announceHolding() }
            try await unlock(vault, with: typed)
        }
    }

    /// Unlocks with the given or typed passcode, for a scheme that uses the passcode itself. Cached keys
    /// unlock the vault but do not reveal its passcode; with `isNeeded`, asks for the passcode nevertheless.
    static func unlockedKeepingPasscode(
        _ global: GlobalOptions, isNeeded: Bool
    ) async throws(CofferError) -> (vault: Vault, passcode: Token?) {
        let vault = try await vault(global)
        let secret: Token
        if let number = global.passcodeFd {
            secret = try Token(PasscodeInput.passcode(on: number))
        } else {
            let isUnlocked = try await vault.restoreCachedKeys()
            if isUnlocked, !isNeeded { return (vault, nil) }
            guard try await vault.status().hasPasscode else {
                try await unlock(vault, with: nil)
                return (vault, nil)
            }
            await warnBeforeLastAttempt(vault)
            guard let typed = try PasscodeInput.readOrPrompt(nil) else {
                throw CofferError(.invalidInput, (isUnlocked ? "" : isLocked) + (isNeeded ? inKey : ofVault))
            }
            secret = try Token(typed)
        }
        try await unlock(vault, with: Passcode(secret.copied()))
        return (vault, secret)
    }

    private static let isLocked = "The vault is locked. "
    private static let inKey =
        "This key is derived from the passcode, which the vault does not store. Specify it with "
        + "--passcode-fd. If the key has another passcode or none, specify that one with --key-passcode-fd."
    private static let ofVault = "Specify its passcode with --passcode-fd."

    /// Unlocks the vault for helpers that other programs run, whose users see only the error message. With
    /// `prompt`, asks for the passcode on the terminal of this process, although standard input belongs to
    /// the other program.
    static func unlockedForHelper(
        _ global: GlobalOptions, prompt: String? = nil
    ) async throws(CofferError) -> Vault {
        do throws(CofferError) {
            let vault = try await unlocked(global)
            // Keys that outlast a lock do not open every token.
            guard !vault.isUnlocked, let prompt else { return vault }
            if let opened = try await unlockedOnTerminal(global, prompt) { return opened }
            return vault
        } catch {
            guard error.code == .locked else { throw error }
            guard let prompt, let vault = try await unlockedOnTerminal(global, prompt) else {
                throw CofferError(.locked, "The vault is locked. Run coffer unlock first.")
            }
            return vault
        }
    }

    /// Unlocks with a passcode typed on the controlling terminal; returns `nil` if there is none.
    private static func unlockedOnTerminal(
        _ global: GlobalOptions, _ prompt: String
    ) async throws(CofferError) -> Vault? {
        guard (try? Descriptor.open("/dev/tty", .readWrite)) != nil else { return nil }
        let vault = try await vault(global)
        await warnBeforeLastAttempt(vault)
        try await unlock(vault, with: Passcode.readFromTerminal(prompt: prompt))
        return vault
    }

    /// Unlocks the vault to store tokens. If the vault is locked and there is no way to ask for the passcode,
    /// returns it locked; stored tokens then wait for an unlock.
    static func unlockedForStoring(
        _ global: GlobalOptions, with given: Passcode? = nil
    ) async throws(CofferError) -> Vault {
        do throws(CofferError) {
            return try await unlocked(global, with: given)
        } catch {
            guard error.code == .locked else { throw error }
            return try await vault(global)
        }
    }

    /// Reads the passcode from `--passcode-fd`; returns `nil` if the option was not given.
    static func passcode(_ global: GlobalOptions) throws(CofferError) -> Passcode? {
        guard let number = global.passcodeFd else { return nil }
        return try Passcode(PasscodeInput.passcode(on: number))
    }

    /// Reads the current passcode from `--passcode-fd` or from the terminal; returns `nil` if there is
    /// neither.
    static func currentPasscode(
        _ global: GlobalOptions, of vault: Vault
    ) async throws(CofferError) -> Passcode? {
        if let passcode = try passcode(global) { return passcode }
        return try await typedPasscode("Current passcode: ", of: vault)
    }

    /// Returns the warning that an owner must see before the first wrong passcode.
    static func erasureNotice(erases: Bool, delays: Bool) -> String {
        guard !erases else {
            return "The tenth wrong passcode in a row erases the vault with everything in it. Keep a copy of "
                + "what must not be lost."
        }
        let limit = delays ? "only delays of up to an hour slow" : "no delay slows"
        return "Wrong passcodes never erase the vault, and \(limit) down guessing. Choose a passcode that "
            + "resists it."
    }

    /// Reads a new passcode from the given descriptor, or asks for it twice on the terminal. If `policy`
    /// refuses a typed passcode, does not ask for its repetition.
    static func newPasscode(
        onDescriptor number: Int32?, option: String = "--new-passcode-fd", policy: PasscodePolicy
    ) throws(CofferError) -> Passcode {
        if let number { return try Passcode(PasscodeInput.passcode(on: number)) }
        guard try Descriptor.standardInput().isTerminal else {
            throw CofferError(
                .invalidInput,
                "A new passcode is required, and there is no terminal to ask for it. Specify it with "
                    + "\(option).")
        }
        return try TypedTwice.read(
            "New passcode: ", confirmation: "Confirm passcode: ", noun: "passcodes", check: policy.check)
    }

    /// Unlocks the vault. If attempts are delayed after wrong passcodes, waits for the delay.
    static func unlock(_ vault: Vault, with passcode: Passcode?) async throws(CofferError) {
        try await waitingForDelay { () async throws(CofferError) in try await vault.unlock(with: passcode) }
    }

    /// Runs an operation that checks a passcode. After a delay that the operation reports, runs it again.
    @discardableResult
    static func waitingForDelay<Result>(
        _ body: () async throws(CofferError) -> Result
    ) async throws(CofferError) -> Result {
        while true {
            do throws(CofferError) {
                return try await body()
            } catch {
                guard error.code == .attemptDelayed, let wait = error.retryAfter, wait <= maxWait else {
                    throw error
                }
                let seconds = Int(wait.components.seconds) + (wait.components.attoseconds > 0 ? 1 : 0)
                Output.message("coffer: waiting \(Plural.of(seconds, "second")) after a wrong passcode.")
                Clock.sleep(for: wait)
            }
        }
    }

    /// The longest delay to wait for; a longer one is an error.
    private static let maxWait = Duration.seconds(60)

    /// Reads a vault's passcode from the terminal. Warns the user before the last attempt.
    private static func typedPasscode(
        _ prompt: String, of vault: Vault
    ) async throws(CofferError) -> Passcode? {
        guard try Descriptor.standardInput().isTerminal else { return nil }
        await warnBeforeLastAttempt(vault)
        return try Passcode.readFromTerminal(prompt: prompt)
    }

    private static func warnBeforeLastAttempt(_ vault: Vault) async {
        guard let attemptsLeft = try? await vault.attemptsLeft(), attemptsLeft <= 1 else { return }
        Output.message("coffer: one attempt left: the next wrong passcode erases this vault.")
    }
}

extension Token {
    /// Returns a copy of the bytes in separate guarded memory.
    func copied() throws(CofferError) -> SecretBytes {
        try exposing { (bytes) throws(CofferError) in try SecretBytes.copying(bytes) }
    }
}
