import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferDatabase

/// The `coffer rotate` command with `--all` or `--databases`, which also replaces the keys of databases. The
/// program `coffer` runs the others, and has the help.
struct RotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Replace the keys of the vault's databases, with --all after those of its classes.",
        shouldDisplay: false)

    @OptionGroup var global: GlobalOptions

    @OptionGroup var options: RotationOptions

    func validate() throws {
        guard options.all || options.databases else {
            throw ValidationError("This program needs --all or --databases.")
        }
    }

    func run() async throws {
        var report: RotationReport?
        let vault: Vault
        if options.all {
            vault = try await VaultOpener.vault(global)
            let passcode = try await KeyRotation.passcode(global, of: vault)
            report = try await KeyRotation.rotate(vault, nil, passcode, to: nil)
        } else {
            vault = try await VaultOpener.unlocked(global)
        }
        let databases: DatabaseRotationReport
        do {
            databases = try await vault.rotateDatabaseKeys()
        } catch {
            // The class keys are replaced, whatever became of the databases.
            if let report { Output.message("coffer: \(KeyRotation.line(report))") }
            throw error
        }
        try show(report, databases)
        if let report { try KeyRotation.requireComplete(report) }
    }

    /// Prints what was replaced; exits with an error code if a database kept its key.
    private func show(_ report: RotationReport?, _ databases: DatabaseRotationReport) throws {
        if global.json {
            try Output.json(
                .object(
                    (report.map { KeyRotation.fields($0) } ?? []) + [
                        ("databases", .list(databases.replaced.map { .text($0) })),
                        ("keptDatabases", .list(databases.kept.map(\.document))),
                    ]))
        } else {
            if let report { try Output.line(KeyRotation.line(report)) }
            try Output.line("Keys of \(Plural.of(databases.replaced.count, "database")) replaced")
        }
        for one in databases.kept {
            Output.message("coffer: The database \(one.name.printable) keeps its key: \(one.reason.text).")
        }
        guard !databases.kept.isEmpty, report?.isComplete ?? true else { return }
        throw ExitCode(CofferError.Code.busy.exitCode)
    }
}

extension DatabaseRotationReport.Kept {
    fileprivate var document: JSONDocument {
        .object([("name", .text(name)), ("reason", .text(reason.rawValue))])
    }
}

extension KeptDatabaseKeyReason {
    fileprivate var text: String {
        switch self {
        case .inUse: "a program uses or changes it. Close that, then run coffer rotate --databases"
        case .noSpace: "the disk is full. Free some space, then run coffer rotate --databases"
        case .unreadable:
            "it could not be read and written. Check its file, owner and permissions, or restore it, then "
                + "run coffer rotate --databases"
        }
    }
}
