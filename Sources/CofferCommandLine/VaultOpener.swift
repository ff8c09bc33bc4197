package import Coffer
package import CofferBase
package import CofferCrypto
import CofferEngine
import Synchronization
import SystemPackage

/// Functions that open and unlock the vault for commands.
package enum VaultOpener {
    /// Opens the vault and leaves it locked. With `isSilent`, the desktop keyring may not ask for its
    /// password, whatever the vault's settings are.
    package static func vault(
        _ global: GlobalOptions, isSilent: Bool = false
    ) async throws(CofferError) -> Vault {
        let place = try location(global)
        do throws(CofferError) {
            let interaction = isSilent && !global.allowPrompt ? .never : global.interaction
            let vault = try await Vault(at: place, interaction: interaction)
            vault.shareEphemeralTokens()
            return vault
        } catch {
            guard let user = global.user, error.remedy == .createVault else { throw error }
            throw noVault(of: user, .notInitialised)
        }
    }

    /// The error for a user without a vault: the path of a user's vault does not show whose it is.
    package static func noVault(of user: String, _ code: CofferError.Code) -> CofferError {
        CofferError(
            code,
            "There is no vault for the user \(user.printable). Create one with coffer init --user "
                + "\(user.printable).")
    }

    /// Returns the location of the vault that the options specify. If the options specify a user, this is the
    /// user's vault.
    package static func location(_ global: GlobalOptions) throws(CofferError) -> VaultLocation {
        let home = try homeLocation(global)
        guard let user = global.user else { return home }
        guard ProgramArguments.isText(user) else {
            throw CofferError(.invalidInput, "The user's name must be UTF-8.")
        }
        return try home.namespace(of: user)
    }

    /// Returns the location of the vault in the vault directory itself, even if the options specify a user.
    package static func homeLocation(_ global: GlobalOptions) throws(CofferError) -> VaultLocation {
        VaultLocation(path: try global.homePath())
    }

    /// Opens and unlocks the vault. The vault is unlocked with the given passcode, with keys that `coffer
    /// unlock` cached in the kernel keyring, without a passcode if none is set, or with a passcode typed on
    /// the terminal. If there is no terminal, keys that outlast a lock are still sufficient to open the items
    /// in their class. The parameter `given` is the passcode from `--passcode-fd` if the caller has already
    /// read it.
    package static func unlocked(
        _ global: GlobalOptions, with given: Passcode? = nil
    ) async throws(CofferError) -> Vault {
        let vault = try await vault(global)
        try await unlock(vault, global, with: given, isHolding: false) { _ in true }
        return vault
    }

    /// Runs an operation on a vault that ``unlocked(_:with:)`` returned. If another process replaces the
    /// vault's keys before the operation is done, unlocks the vault again and repeats the operation. The
    /// passcode from `--passcode-fd`, if any, is `given`, because it can be read only once.
    package static func repeatingAfterRotation<Result>(
        _ vault: Vault, _ global: GlobalOptions, with given: Passcode?,
        _ body: () async throws(CofferError) -> Result
    ) async throws(CofferError) -> Result {
        // Each rotation can interrupt the operation once more.
        for _ in 0..<3 {
            do throws(CofferError) {
                return try await body()
            } catch {
                guard error.remedy == .unlockAgain else { throw error }
                if given == nil { Output.message("coffer: \(error.message)") }
            }
            try await unlock(vault, global, with: given, isHolding: false) { _ in true }
        }
        return try await body()
    }

    /// Opens and unlocks the vault without asking for a passcode or for the desktop keyring's password.
    /// Throws `locked` if unlocking requires a passcode.
    package static func unlockedSilently(_ global: GlobalOptions) async throws(CofferError) -> Vault {
        let vault = try await vault(global, isSilent: true)
        if try await !vault.restoreCachedKeys() { try await vault.unlock() }
        return vault
    }

    /// Runs an operation that requires an unlocked vault. Keys that outlast a lock are not sufficient for the
    /// operation. If only such keys are available, the error states which option specifies the passcode.
    package static func withPasscode<Result>(
        _ global: GlobalOptions, _ body: (Vault) async throws(CofferError) -> Result
    ) async throws(CofferError) -> Result {
        let vault = try await unlocked(global)
        do throws(CofferError) {
            return try await body(vault)
        } catch {
            let isForPasscode = error.code == .locked && error.remedy != .unlockAgain
            guard isForPasscode, global.passcodeFd == nil else { throw error }
            throw noTerminal
        }
    }

    /// Opens and unlocks the vault with keys that can be cached for `duration`. The vault must have the keys
    /// of every class, and none of these may already be cached until an exact earlier time.
    package static func unlockedForHolding(
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
        "Caching the keys for the specified time requires the passcode. Enter the passcode on a terminal "
        + "or specify it with --passcode-fd."
    private static let noTerminal = CofferError(
        .locked, "The vault is locked, and there is no terminal on which to ask for its passcode.",
        remedy: .unlockVault)

    /// Whether a vault was left with the keys that outlast a lock because there was no terminal.
    private static let lackedTerminal = Atomic(false)

    /// Returns the error with the reason why the passcode was not asked for, if it needed one for that
    /// reason.
    package static func explained(_ error: CofferError) -> CofferError {
        let isForTerminal = error.remedy == .unlockVault && lackedTerminal.load(ordering: .relaxed)
        return isForTerminal ? noTerminal : error
    }

    /// Unlocks a vault. Cached keys in the kernel keyring are sufficient if `isEnough` returns `true`. If
    /// `isHolding` is `true`, a later attempt to cache the keys detects whether another process has locked
    /// the vault since this call.
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
                guard vault.hasKeys else { throw noTerminal }
                return lackedTerminal.store(true, ordering: .relaxed)
            }
            // A lock that occurred during the passcode prompt precedes this unlock.
            if isHolding { try await vault.announceHolding() }
            try await unlock(vault, with: typed)
        }
    }

    /// Unlocks the vault with the given or typed passcode, for a scheme that uses the passcode itself. Cached
    /// keys unlock the vault but do not reveal its passcode. If `isNeeded` is `true`, asks for the passcode
    /// even if cached keys have unlocked the vault.
    package static func unlockedKeepingPasscode(
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
        "This key is derived from the passcode, which the vault does not store. Specify the passcode "
        + "with --passcode-fd. If the key has a different passcode or none, use --key-passcode-fd."
    private static let ofVault = "Specify its passcode with --passcode-fd."

    /// Unlocks the vault for a helper that another program runs, whose user sees only the error message. If
    /// `prompt` is given, asks for the passcode on this process's terminal, although standard input belongs
    /// to the other program.
    package static func unlockedForHelper(
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
                throw noTerminal
            }
            return vault
        }
    }

    /// Unlocks the vault with a passcode typed on the controlling terminal. Returns `nil` if there is no such
    /// terminal.
    private static func unlockedOnTerminal(
        _ global: GlobalOptions, _ prompt: String
    ) async throws(CofferError) -> Vault? {
        guard (try? Descriptor.open("/dev/tty", .readWrite)) != nil else { return nil }
        let vault = try await vault(global)
        await warnBeforeLastAttempt(vault)
        try await unlock(vault, with: Passcode.readFromTerminal(prompt: prompt))
        return vault
    }

    /// Unlocks the vault so that tokens can be stored. If the vault is locked and there is no way to ask for
    /// the passcode, returns the locked vault. In that case, stored tokens remain pending until the next
    /// unlock.
    package static func unlockedForStoring(
        _ global: GlobalOptions, with given: Passcode? = nil
    ) async throws(CofferError) -> Vault {
        do throws(CofferError) {
            return try await unlocked(global, with: given)
        } catch {
            // What is stored while locked needs no anchor.
            let isWithoutAnchor = [.anchorLost, .rolledBack].contains(error.code)
            guard error.code == .locked || isWithoutAnchor && given == nil && global.passcodeFd == nil else {
                throw error
            }
            if isWithoutAnchor { Output.message("coffer: \(error.advice)") }
            return try await vault(global)
        }
    }

    /// Reads the passcode from `--passcode-fd`. Returns `nil` if the option was not specified.
    package static func passcode(_ global: GlobalOptions) throws(CofferError) -> Passcode? {
        guard let number = global.passcodeFd else { return nil }
        return try Passcode(PasscodeInput.passcode(on: number))
    }

    /// Reads the current passcode from `--passcode-fd` or from the terminal. Returns `nil` if there is
    /// neither.
    package static func currentPasscode(
        _ global: GlobalOptions, of vault: Vault
    ) async throws(CofferError) -> Passcode? {
        if let passcode = try passcode(global) { return passcode }
        return try await typedPasscode("Current passcode: ", of: vault)
    }

    /// Returns the notice about the consequences of wrong passcodes, which the owner must read before
    /// entering one.
    package static func erasureNotice(erases: Bool, delays: Bool) -> String {
        guard !erases else {
            return "The tenth wrong passcode in a row erases the vault with everything in it."
        }
        let limit = delays ? "only delays of up to an hour slow" : "no delay slows"
        return "Wrong passcodes never erase the vault, and \(limit) down guessing. Choose a passcode that "
            + "is hard to guess."
    }

    /// Reads a new passcode from the given descriptor, or asks the user to type it twice on the terminal. If
    /// `policy` refuses a typed passcode, does not ask the user to repeat it.
    package static func newPasscode(
        onDescriptor number: Int32?, option: String = "--new-passcode-fd", policy: PasscodePolicy
    ) throws(CofferError) -> Passcode {
        if let number { return try Passcode(PasscodeInput.passcode(on: number)) }
        guard try Descriptor.standardInput().isTerminal else {
            throw CofferError(
                .invalidInput,
                "A new passcode is required, but there is no terminal on which to ask for it. Specify "
                    + "the passcode with \(option).")
        }
        return try TypedTwice.read(
            "New passcode: ", confirmation: "Confirm passcode: ", noun: "passcodes", check: policy.check)
    }

    /// Unlocks the vault. If wrong passcodes have delayed further attempts, waits until the delay is over.
    package static func unlock(_ vault: Vault, with passcode: Passcode?) async throws(CofferError) {
        try await waitingForDelay { () async throws(CofferError) in try await vault.unlock(with: passcode) }
    }

    /// Runs an operation that checks a passcode. If the operation reports a delay, waits and runs the
    /// operation again.
    @discardableResult
    package static func waitingForDelay<Result>(
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
                Output.message("coffer: Waiting \(Plural.of(seconds, "second")) after a wrong passcode.")
                Clock.sleep(for: wait)
            }
        }
    }

    /// The maximum delay to wait for. A longer delay is an error.
    private static let maxWait = Duration.seconds(60)

    /// Reads a vault's passcode from the terminal, or returns `nil` if there is no terminal. Warns the user
    /// before the last attempt.
    private static func typedPasscode(
        _ prompt: String, of vault: Vault
    ) async throws(CofferError) -> Passcode? {
        guard try Descriptor.standardInput().isTerminal else { return nil }
        await warnBeforeLastAttempt(vault)
        return try Passcode.readFromTerminal(prompt: prompt)
    }

    private static func warnBeforeLastAttempt(_ vault: Vault) async {
        guard let attemptsLeft = try? await vault.attemptsLeft(), attemptsLeft <= 1 else { return }
        Output.message("coffer: One attempt left: the next wrong passcode erases the vault.")
        guard let key = try? await vault.recoveryKeyStatus() else { return }
        Output.message(
            "coffer: If the passcode is forgotten, open the vault with recovery key \(key.number): coffer "
                + "recovery use.")
    }
}

extension GlobalOptions {
    /// Whether the desktop keyring may prompt the user: with the option, or if the vault's settings allow it.
    package var interaction: PromptPolicy { allowPrompt ? .allowed : .asSet }
}

extension Token {
    /// Returns a copy of the token's bytes in separate guarded memory.
    package func copied() throws(CofferError) -> SecretBytes {
        try exposing { (bytes) throws(CofferError) in try SecretBytes.copying(bytes) }
    }
}
