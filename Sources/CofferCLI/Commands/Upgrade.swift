import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer upgrade` command, which brings a vault of an earlier release to the format of this one.
struct UpgradeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upgrade",
        abstract: "Bring a vault that an earlier release wrote to the format of this release.",
        discussion: """
            Opening and unlocking a vault of an earlier release change no format. The vault works as it is; \
            what it lacks is refused with the exit code of unsupported until this command adds it. With \
            --dry-run, the command only says what it would change, without a passcode; coffer status and \
            coffer doctor show that an upgrade is available.

            The command needs a backup that is less than a day old: coffer backup create. With --no-backup, \
            it does without. New files are written beside the present ones and read back before one write \
            switches to them. If the command is interrupted, the vault is as it was or upgraded. Contents \
            of tokens, files and databases stay as they are. Afterwards, earlier releases of coffer may \
            refuse the vault.

            The passcode comes from --passcode-fd or the terminal, even while the vault is unlocked. The \
            namespaces of --user are upgraded on their own.
            """)

    @OptionGroup var global: GlobalOptions

    @Flag(help: "Only say what would change.")
    var dryRun = false

    @Flag(help: "Upgrade without a backup from the last 24 hours.")
    var noBackup = false

    func run() async throws {
        let vault = try await VaultOpener.vault(global)
        let available = try await vault.availableUpgrades()
        guard !dryRun, !available.isEmpty else { return try show(available, "available") }
        var passcode: Passcode?
        if try await vault.status().hasPasscode {
            passcode = try await VaultOpener.currentPasscode(global, of: vault)
        }
        let done = try await VaultOpener.waitingForDelay { () async throws(CofferError) in
            try await vault.upgrade(passcode: passcode, requiringBackup: !noBackup)
        }
        try show(done, "upgraded")
    }

    private func show(_ parts: [FormatUpgrade], _ name: String) throws {
        guard !global.json else {
            return try Output.json(.object([(name, .list(parts.map { .text($0.rawValue) }))]))
        }
        guard !parts.isEmpty else { return try Output.line("The vault has the format of this release") }
        for part in parts { try Output.line("\(name): \(part.rawValue) (\(part.summary))") }
    }
}
