import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import FoundationEssentials

/// The `coffer unlock` command, which caches the class keys in the kernel keyring.
struct UnlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Cache the class keys in the kernel keyring for later commands of this user.",
        discussion: """
            The keys stay until `coffer lock`, a reboot, or the end of the vault's inactivity time; with \
            --for, for exactly the specified time. The keys of the two afterFirstUnlock classes stay until a \
            reboot. Without a kernel keyring, every command asks for the passcode, and this one ends with 8. \
            If any process locks the vault in the meantime, the lock wins: this command fails and caches no \
            key. A vault without a passcode needs no unlock; a message says so.

            With --from-login, as the PAM module pam_coffer.so runs this command, the passcode is the \
            password of a login. It is tried only if the vault is locked, no wrong passcode has been counted \
            since the last right one, and a wrong one would not erase the vault; otherwise the command ends \
            with 11. The command neither asks nor waits.
            """)

    @OptionGroup var global: GlobalOptions

    @Flag(
        name: .customLong("from-login"),
        help: "Take a login's password for the passcode only where that cannot erase the vault.")
    var isFromLogin = false

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "Keep the keys for exactly this time: 60 (seconds), 10m, 1h, 90d or 2w; or until 2027-01-31 UTC.",
            valueName: "time"))
    var time: String?

    func run() async throws {
        let duration = try time.map { text throws(CofferError) in try Self.duration(text) }
        let vault =
            isFromLogin
            ? try await VaultOpener.unlockedFromLogin(global, for: duration)
            : try await VaultOpener.unlockedForHolding(global, for: duration)
        let isHeld = try await cacheKeys(of: vault, for: duration)
        await reportPendingTokens(vault)
        let hasPasscode = try await vault.hasPasscode()
        if !isHeld, hasPasscode { throw Self.noKernelKeyring }
        if !hasPasscode { Self.reportNoPasscode() }
        if global.json { try Output.json(.object([("state", .text("unlocked")), ("held", .flag(isHeld))])) }
    }

    /// Tells the user why `unlock` changes nothing for this vault.
    private static func reportNoPasscode() {
        Output.message(
            "coffer: This vault has no passcode, so it needs no unlock. "
                + CofferError.Remedy.setPasscode.sentence)
    }

    /// Caches the keys; returns `false` if there is no kernel keyring.
    private func cacheKeys(of vault: Vault, for duration: Duration?) async throws(CofferError) -> Bool {
        do throws(CofferError) {
            try await vault.cacheKeysInKernel(for: duration)
            return true
        } catch {
            guard [.unsupported, .permissionDenied].contains(error.code) else { throw error }
            return false
        }
    }

    private static let noKernelKeyring = CofferError(
        .keyringUnavailable,
        "The passcode is correct, but there is no kernel keyring to cache the keys in, so the vault is "
            + "locked again. Specify the passcode with each command.")

    private static func duration(_ text: String) throws(CofferError) -> Duration {
        try TimeArgument.refuseYear(text, of: "--for")
        let seconds = TimeArgument.read(text)?.seconds(from: Date()) ?? 0
        guard (1...Int(Int32.max)).contains(seconds) else {
            throw CofferError(
                .invalidInput,
                "--for takes \(TimeArgument.forms); at least one second and at most \(Int32.max) seconds "
                    + "(68 years) from now.")
        }
        return .seconds(seconds)
    }

    /// Reports tokens that arrived while the vault was locked and that are either damaged or awaiting
    /// confirmation. Errors do not affect the unlock.
    private func reportPendingTokens(_ vault: Vault) async {
        guard let waiting = try? await vault.tokens.pendingTokens() else { return }
        CorruptPendingTokens.report(waiting.corrupt)
        guard waiting.unconfirmed > 0 else { return }
        Output.message(
            "coffer: \(Plural.of(waiting.unconfirmed, "token")) that arrived while the vault was locked "
                + "would replace \(waiting.unconfirmed == 1 ? "another" : "others"). To list the waiting "
                + "values, run coffer token list.")
    }
}

/// The `coffer lock` command, which removes the keys that `coffer unlock` cached.
struct LockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock", abstract: "Remove the keys that `unlock` cached in the kernel keyring.",
        discussion: """
            Removes all keys except those of the two afterFirstUnlock classes, which stay until a reboot or \
            a wipe. The command works even if no file is readable: if the vault directory does not show \
            which vault it contains, the command locks every vault of this user and reports that. If the \
            directory does not exist, perhaps because its name is mistyped, the command locks every vault, \
            too, and then ends with 12; `lock --all` does the same without a directory. It also reports any \
            errors, and fails if a key is still there.

            Programs and commands that are running keep the keys in their own memory: those that follow the \
            lock, such as coffer serve and coffer ssh-agent, lose them within a fifth of a second, the \
            others when they end or at the end of the inactivity time.

            In a vault without a passcode, the command ends only volatile tokens and session-only files. Any \
            later command opens the vault again; a message says so.
            """)

    @OptionGroup var global: GlobalOptions

    @Flag(help: "Lock every vault of this user. Needs no vault directory.")
    var all = false

    func run() async throws {
        let report = try await all ? Vault.lockAll() : lockHome()
        for failure in report.failures { Output.message("coffer: \(failure.advice)") }
        let absence = Self.absence(in: report)
        if global.json { Self.show(report, absence) }
        if let absence { throw ExitCode(absence.code.exitCode) }
        if report.hasPasscode == false { Self.reportNoPasscode() }
    }

    /// Tells the user what `lock` does for a vault without a passcode.
    private static func reportNoPasscode() {
        Output.message(
            "coffer: Volatile tokens and session-only files have ended. This vault has no passcode, so any "
                + "later command opens the vault again. " + CofferError.Remedy.setPasscode.sentence)
    }

    /// Returns the error that the vault directory does not exist, so that every vault was locked; `nil` if it
    /// exists. Only then was the directory mistyped or moved: a damaged one must not keep a script from
    /// succeeding.
    private static func absence(in report: LockReport) -> CofferError? {
        guard report.vaultID == nil else { return nil }
        return report.failures.first { $0.code == .notInitialised }
    }

    private static func show(_ report: LockReport, _ absence: CofferError?) {
        var members: [(String, JSONDocument)] = [
            ("state", .text("locked")),
            ("vaultID", report.vaultID.map { .text($0.description) } ?? .none),
            ("removedKeys", .number(report.removed)),
            ("failures", .list(report.failures.map { .text($0.code.name) })),
        ]
        if let absence { members.append(("error", Failure.document(absence))) }
        do throws(CofferError) {
            try Output.json(.object(members))
        } catch {
            // The keys have been removed even if the result cannot be printed.
            Output.message("coffer: \(error.advice)")
        }
    }

    private func lockHome() async throws(CofferError) -> LockReport {
        let location: VaultLocation
        do throws(CofferError) {
            location = try VaultOpener.location(global)
        } catch {
            Output.message("coffer: \(error.advice) Every vault of this user is locked.")
            return try await Vault.lockAll()
        }
        return try await Vault.lock(at: location)
    }
}
