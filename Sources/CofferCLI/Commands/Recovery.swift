import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer recovery` command, which groups the subcommands for the recovery key.
struct RecoveryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery", abstract: "Make, check, use or remove the vault's recovery key.",
        discussion: """
            A recovery key opens the vault when the passcode or the device key is lost. It is 40 characters \
            long, to be printed or written down. Unlike a backup, it brings back nothing that is gone: after \
            a wipe, or the tenth wrong passcode, it opens nothing.

            A vault has no recovery key unless you make one, and never more than one.
            """,
        subcommands: [RecoveryCreate.self, RecoveryCheck.self, RecoveryUse.self, RecoveryRemove.self])
}

/// The `coffer recovery create` command, which makes a recovery key.
struct RecoveryCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make a recovery key; an older one is void then.",
        discussion: """
            Prints a sheet with the key. On a terminal, the key has to be typed back from the sheet, group \
            by group, and counts only then. The passcode is needed even while the vault is unlocked.

            The key also opens the vault when the device key is lost, so anyone with the sheet and a copy \
            of the vault directory can open it on another device. With --strict-device, it opens the vault \
            only where the device key is; a lost device key then means a lost vault.

            With --json and without --sheet, prints the key as recoveryKey, in one document before an \
            error's. A key that was printed counts for certain only if the command ends with 0. If the \
            command is killed or the disk fails, keep both sheets until coffer recovery check shows which \
            one counts.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var sheet: RecoverySheetOptions

    @Flag(help: "Make a key that does not open the vault without the device key.")
    var strictDevice = false

    func run() async throws {
        let vault = try await VaultOpener.vault(global)
        guard try await vault.settings().allowsRecoveryKey else {
            throw CofferError(
                .refused,
                "The vault's settings do not allow a recovery key. Allow it with coffer settings "
                    + "--recovery-keys on.")
        }
        var passcode: Passcode?
        if try await vault.status().hasPasscode {
            passcode = try await VaultOpener.currentPasscode(global, of: vault)
            guard passcode != nil else {
                throw CofferError(
                    .locked,
                    "The passcode is required even while the vault is unlocked, and there is no terminal "
                        + "on which to ask for it. Specify the passcode with --passcode-fd.")
            }
            // A wrong passcode is found before the sheet is printed.
            try await VaultOpener.unlock(vault, with: passcode)
        }
        let output = sheet.output
        let number = try await Self.create(
            in: vault, at: VaultOpener.location(global), passcode, output, strictDevice: strictDevice,
            asJSON: global.json)
        guard !global.json else {
            guard output.isFile else { return }
            return try Output.json(.object([("number", .text(number)), ("sheet", .text(output.name))]))
        }
        Output.message("coffer: \(Self.confirmation(number))")
    }

    /// Makes a recovery key for an open vault; returns its number.
    static func create(
        in vault: Vault, at location: VaultLocation, _ passcode: Passcode?, _ output: RecoverySheetOutput,
        strictDevice: Bool, asJSON: Bool
    ) async throws(CofferError) -> String {
        let key = try RecoveryKey.generate()
        let number = try key.number(in: vault.vaultID)
        let sheet = RecoverySheet(
            location: location, vaultID: vault.vaultID, number: number,
            opensWithoutDeviceKey: !strictDevice)
        try output.show(key, on: sheet, asJSON: asJSON)
        try await vault.setRecoveryKey(key, passcode: passcode, keepingDeviceKey: !strictDevice)
        return number
    }

    static func confirmation(_ number: String) -> String {
        "Recovery key \(number) counts from now on, and every older sheet of this vault is void."
    }
}

/// The `coffer recovery check` command, which checks a recovery key.
struct RecoveryCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check that a recovery key would open the vault.",
        discussion: """
            Opens every recovery slot and the copy of the device key, and keeps nothing open. Works while \
            the vault is locked. Wrong recovery keys are not counted.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var input: RecoveryKeyOptions

    func run() async throws {
        let vault: Vault
        do throws(CofferError) {
            vault = try await VaultOpener.vault(global)
        } catch {
            guard Self.isLossOfDeviceKey(error) else { throw error }
            return try await checkWithoutDeviceKey()
        }
        guard let status = try await vault.recoveryKeyStatus() else {
            throw CofferError(.absent, "This vault has no recovery key.", remedy: .createRecoveryKey)
        }
        try await vault.checkRecoveryKey(input.key())
        guard !global.json else {
            return try Output.json(
                .object([
                    ("number", .text(status.number)), ("created", .text(status.created.iso8601)),
                    ("opensWithoutDeviceKey", .flag(status.opensWithoutDeviceKey)),
                ]))
        }
        let device = status.opensWithoutDeviceKey ? ", also if its device key is lost" : ""
        try Output.line("Recovery key \(status.number) opens this vault\(device).")
    }

    private static func isLossOfDeviceKey(_ error: CofferError) -> Bool {
        [.corrupt, .keyringUnavailable, .keyringLocked].contains(error.code)
    }

    /// Checks the key against the copy of the device key, when the device key cannot be read.
    private func checkWithoutDeviceKey() async throws {
        let key = try input.key()
        let recovery = try await VaultRecovery(
            of: VaultOpener.location(global), with: key, interaction: global.interaction)
        let number = try key.number(in: recovery.vaultID)
        guard !global.json else {
            return try Output.json(
                .object([
                    ("number", .text(number)), ("created", .none), ("opensWithoutDeviceKey", .flag(true)),
                ]))
        }
        try Output.line(
            "Recovery key \(number) opens this vault, whose device key cannot be read: run coffer recovery "
                + "use.")
    }
}

/// The `coffer recovery remove` command, which removes the recovery key.
struct RecoveryRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove the recovery key: its sheet opens nothing any more.",
        discussion: "Works while the vault is locked, and needs no passcode.", aliases: ["rm"])

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await VaultOpener.vault(global)
        guard try await vault.removeRecoveryKey() else {
            throw CofferError(.absent, "This vault has no recovery key.")
        }
        if global.json { try Output.json(.object([("recoveryKey", .none)])) }
    }
}
