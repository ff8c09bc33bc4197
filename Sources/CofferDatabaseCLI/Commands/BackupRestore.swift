import ArgumentParser
import Coffer
import CofferBackup
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer backup restore` command, which restores a backup into the vault.
struct BackupRestore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore a backup into the vault.",
        discussion: """
            The whole backup is checked before anything is stored. Nothing in the vault is removed. Each \
            item is counted once: as added, as equal to the vault's, as kept (the vault's own differs and \
            stays), as replaced, or as impossible, with the reason. If the vault kept something, the command \
            ends with 10, and with 7 if an item of the backup is damaged.

            Items in a ThisDeviceOnly class come back only in the vault that was backed up, and only if the \
            vault does not have them. On a new device, first create a vault with coffer init, or specify \
            --into-new.

            Restore only backups whose origin you know: anyone who knows an age recipient can make a backup \
            for it. An interrupted restore can be repeated.
            """)

    enum Rule: String, CaseIterable, ExpressibleByArgument {
        case keep, replace, both

        var rule: ConflictRule {
            switch self {
            case .keep: .keep
            case .replace: .replace
            case .both: .both
            }
        }
    }

    @OptionGroup var global: GlobalOptions
    @OptionGroup var opening: BackupOpeningOptions

    @Flag(help: "Create the vault first, with a passcode; fails if there is one.")
    var intoNew = false

    @Option(help: "For an item that differs from the vault's: keep that, replace it, or have both.")
    var onConflict = Rule.keep

    @Flag(help: "Change nothing, and only report.")
    var dryRun = false

    @Argument(help: "The backup.", completion: .file())
    var file: String

    func validate() throws {
        guard !intoNew || !dryRun else {
            throw ValidationError("Specify either --into-new or --dry-run.")
        }
    }

    func run() async throws {
        let path = try FilePathArgument.path(file)
        let (vault, key) = try await intoNew ? newVault(path) : opened(path)
        let report = try await CancellableWork.run { () throws(CofferError) in
            try await vault.restoreBackup(
                from: path, with: key, onConflict: onConflict.rule, isTrial: dryRun)
        }
        try show(report)
    }

    private func opened(_ path: FilePath) async throws(CofferError) -> (Vault, BackupOpeningKey) {
        let vault = try await VaultOpener.unlocked(global)
        return (vault, try opening.key(for: path))
    }

    /// Creates the vault. A backup that cannot be read leaves none.
    private func newVault(_ path: FilePath) async throws(CofferError) -> (Vault, BackupOpeningKey) {
        let location = try VaultOpener.location(global)
        guard try await Vault.status(at: location).vaultID == nil else {
            throw CofferError(.alreadyExists, "A vault already exists at \(location.path).")
        }
        var passcode = try VaultOpener.passcode(global)
        if passcode == nil {
            passcode = try VaultOpener.newPasscode(
                onDescriptor: nil, option: "--passcode-fd", policy: .none)
        }
        let key = try opening.key(for: path)
        _ = try await VaultBackup.contents(at: path, with: key)
        let vault = try await Vault.create(
            at: location, options: VaultOptions(), passcode: passcode, interaction: global.interaction)
        return (vault, key)
    }

    private func show(_ report: RestoreReport) throws {
        for item in report.items {
            Output.message("coffer: \(item.name.printable): \(item.outcome.text)")
        }
        if global.json {
            try Output.json(
                .object([
                    ("added", .number(report.added)), ("equal", .number(report.equal)),
                    ("kept", .number(report.kept)), ("replaced", .number(report.replaced)),
                    ("impossible", .number(report.impossible)), ("dryRun", .flag(dryRun)),
                ]))
        } else {
            try Output.line(
                "\(dryRun ? "Would restore" : "Restored") \(Plural.of(report.total, "item")): "
                    + "\(report.added) added, \(report.equal) equal, \(report.kept) kept, "
                    + "\(report.replaced) replaced, \(report.impossible) impossible.")
        }
        // Damage is told from the items of another device, which nobody can expect to come back.
        if report.items.contains(where: { $0.outcome == .impossible(.damaged) }) {
            throw ExitCode(CofferError.Code.corrupt.exitCode)
        }
        if report.kept > 0 { throw ExitCode(CofferError.Code.conflict.exitCode) }
    }
}

extension RestoreOutcome {
    /// The outcome in words for people.
    fileprivate var text: String {
        switch self {
        case .added: "added"
        case .equal: "equal"
        case .kept: "the vault's own stays"
        case .replaced: "replaced"
        case .impossible(.otherDevice): "can be restored only in the vault and under the keys of its backup"
        case .impossible(.reserved): "its name is reserved for the library"
        case .impossible(.damaged): "damaged, or not in the form that coffer writes"
        case .impossible(.needsPasscode): "its class needs a passcode, and none is set"
        }
    }
}
