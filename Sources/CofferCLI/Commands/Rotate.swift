import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer rotate` command, which replaces the vault's class keys.
struct RotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Replace the vault's keys, so that an older copy of them opens nothing written later.",
        discussion: """
            Creates new keys, wraps the keys of all tokens, files, databases and key pairs under them, and \
            destroys the old keys. Contents are not encrypted again: an older copy of the whole vault still \
            shows what it contains. The keys of databases themselves stay the same, so the command names the \
            databases that such a copy also opens later. Private keys of key pairs stay the same, too.

            The passcode comes from --passcode-fd or the terminal, even while the vault is unlocked. It \
            stays the same: to replace it, too, use coffer passcode change --rotate. So does the recovery \
            key: to replace it, use coffer recovery create. Earlier backups no longer restore items in \
            ThisDeviceOnly classes: make a new one.

            If the command is interrupted, the next unlock, or --resume, goes on. Earlier releases of coffer \
            refuse to open the vault until then. If an item cannot be read, the old keys are kept: restore \
            or remove the item, then use --resume. The namespaces of --user have their own keys.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(
        name: .customLong("class"), parsing: .singleValue,
        help: "A class whose key to replace; may be repeated.")
    var protection: [ProtectionClassArgument] = []

    @Flag(help: "Replace the keys of all classes. This is the default.")
    var all = false

    @Flag(help: "Only go on with a rotation that was interrupted.")
    var resume = false

    func validate() throws {
        guard protection.isEmpty || !all, !resume || protection.isEmpty && !all else {
            throw ValidationError("Specify only one of --class, --all and --resume.")
        }
    }

    func run() async throws {
        guard !resume else {
            let vault = try await VaultOpener.vault(global)
            // The unlock already goes on, so show what is left.
            let wasRotating = try await vault.status().isRotatingKeys
            try await VaultOpener.unlock(vault, with: passcode(of: vault))
            let report = try await vault.resumeKeyRotation()
            guard let report else { return try Self.showEnd(wasRotating: wasRotating, asJSON: global.json) }
            return try Self.show(report, asJSON: global.json)
        }
        let vault = try await VaultOpener.vault(global)
        let passcode = try await passcode(of: vault)
        let classes = protection.isEmpty ? nil : protection.map(\.protection)
        try Self.show(await Self.rotate(vault, classes, passcode, to: nil), asJSON: global.json)
    }

    /// Returns the passcode from the option or the terminal; `nil` if none is set.
    private func passcode(of vault: Vault) async throws(CofferError) -> Passcode? {
        guard try await vault.status().hasPasscode else { return nil }
        return try await VaultOpener.currentPasscode(global, of: vault)
    }

    /// Replaces the keys of `classes`, `nil` for all, and the passcode if a new one is given.
    static func rotate(
        _ vault: Vault, _ classes: [ProtectionClass]?, _ passcode: Passcode?, to newPasscode: Passcode?
    ) async throws(CofferError) -> RotationReport {
        var report = RotationReport()
        try await VaultOpener.waitingForDelay { () async throws(CofferError) in
            report = try await vault.rotateKeys(of: classes, passcode: passcode, newPasscode: newPasscode)
        }
        let hasBackup = try await vault.status().lastBackup != nil
        if hasBackup, report.isComplete, report.classes.contains(where: { !$0.isExportable }) {
            Output.message(
                "coffer: Earlier backups do not restore items in ThisDeviceOnly classes any more, because "
                    + "their keys are replaced. Make a new one with coffer backup create.")
        }
        return report
    }

    private static func showEnd(wasRotating: Bool, asJSON: Bool) throws {
        guard !asJSON else { return try Output.json(.object([("complete", .flag(true))])) }
        try Output.line(wasRotating ? "The rotation is complete" : "No rotation was in progress")
    }

    /// Prints a report; exits with an error code if items that could not be read keep the old keys alive.
    static func show(_ report: RotationReport, asJSON: Bool) throws {
        if asJSON {
            try Output.json(
                .object([
                    ("complete", .flag(report.isComplete)),
                    ("classes", .list(report.classes.map { .text($0.name) })),
                    ("tokens", .number(report.tokens)), ("pendingTokens", .number(report.pendingTokens)),
                    ("files", .number(report.files)), ("keyPairs", .number(report.keyPairs)),
                    ("databasesAnOldCopyOpens", .list(report.databases.map { .text($0) })),
                    ("unreadableTokens", .number(report.unreadableTokens)),
                    ("unreadableKeyPairs", .number(report.unreadableKeyPairs)),
                    ("unreadableFiles", .list(report.unreadableFiles.map { .text($0.description) })),
                ]))
        } else {
            let pairs = report.keyPairs > 0 ? ", \(Plural.of(report.keyPairs, "key pair"))" : ""
            let counts = "\(Plural.of(report.tokens, "token"))\(pairs) and \(Plural.of(report.files, "file"))"
            try Output.line(
                "Keys of \(counts) rewrapped" + (report.isComplete ? ", old keys destroyed" : ""))
        }
        try remark(on: report)
    }

    private static func remark(on report: RotationReport) throws {
        if !report.databases.isEmpty {
            Output.message(
                "coffer: An older copy of the vault still opens these databases, also their later content: "
                    + report.databases.map(\.printable).joined(separator: ", "))
        }
        guard !report.isComplete else { return }
        let ids = report.unreadableFiles.map(\.description).joined(separator: ", ")
        Output.message(
            "coffer: \(Plural.of(report.unreadableTokens, "token")) and "
                + "\(Plural.of(report.unreadableKeyPairs, "key pair")) could not be read"
                + (ids.isEmpty ? "" : ", nor these files: \(ids)")
                + ". The old keys are kept. Restore or remove these items, then run coffer rotate --resume.")
        throw ExitCode(CofferError.Code.corrupt.exitCode)
    }
}
