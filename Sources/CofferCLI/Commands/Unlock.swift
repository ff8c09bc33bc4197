import ArgumentParser
import Coffer
import CofferBase
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
            key.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "Keep the keys for exactly this time: a number of seconds, 10m, 1h, or until 2027-01-31 (UTC).",
            valueName: "time"))
    var time: String?

    func run() async throws {
        let duration = try time.map { text throws(CofferError) in try Self.duration(text) }
        let vault = try await VaultOpener.unlockedForHolding(global, for: duration)
        let isHeld = try await cacheKeys(of: vault, for: duration)
        await reportPendingTokens(vault)
        if !isHeld, try await vault.status().hasPasscode { throw Self.noKernelKeyring }
        if global.json { try Output.json(.object([("state", .text("unlocked")), ("held", .flag(isHeld))])) }
    }

    /// Caches the keys in the kernel keyring. Returns `false` if there is no kernel keyring.
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
        let seconds = try TimeArgument.parse(text, of: "--for", takesSeconds: true).seconds(from: Date())
        guard (1...Int(Int32.max)).contains(seconds) else {
            throw CofferError(
                .invalidInput, "--for takes at least one second and at most \(Int32.max) seconds from now.")
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
            "coffer: \(Plural.of(waiting.unconfirmed, "token")) that arrived while locked would replace "
                + "\(waiting.unconfirmed == 1 ? "another" : "others"): see coffer token list.")
    }
}

/// The `coffer lock` command, which removes the keys that `coffer unlock` cached.
struct LockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock", abstract: "Remove the keys that `unlock` cached in the kernel keyring.",
        discussion: """
            Removes all keys except those of the two afterFirstUnlock classes, which stay until a reboot or \
            a wipe. The command works even if no file is readable: if the vault directory does not show \
            which vault it holds, the command locks every vault of this user and reports that. It also \
            reports any errors, and fails if a key is still there.
            """)

    @OptionGroup var global: GlobalOptions

    @Flag(help: "Lock every vault of this user. Needs no vault directory.")
    var all = false

    func run() async throws {
        let report = try await all ? Vault.lockAll() : lockHome()
        for failure in report.failures { Output.message("coffer: \(failure.advice)") }
        guard global.json else { return }
        do throws(CofferError) {
            try Output.json(
                .object([
                    ("state", .text("locked")),
                    ("vaultID", report.vaultID.map { .text($0.description) } ?? .none),
                    ("removedKeys", .number(report.removed)),
                    ("failures", .list(report.failures.map { .text($0.code.name) })),
                ]))
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
