import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer import` command, which imports tokens from a file that `coffer export` wrote.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import tokens from a file that coffer export wrote.",
        discussion: """
            The command checks the whole file before it stores anything. A token that already exists with \
            different contents does not change; the command lists the token and ends with 10. Without \
            --allow-expensive, the command refuses a file whose key derivation needs more than 1 GiB of \
            memory or more than 4 GiB of memory passes in total, because nothing in the file can be \
            authenticated before that derivation.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var passphrase: ExportPassphrase

    @Flag(help: "Replace existing tokens whose contents differ from the export.")
    var replace = false

    @Flag(
        help:
            "Accept a file whose key derivation needs more than 1 GiB of memory, or 4 GiB in all passes."
    )
    var allowExpensive = false

    @Argument(help: "The file to import.")
    var file: String

    func run() async throws {
        let path = try FilePathArgument.path(file)
        let vault = try await VaultOpener.unlocked(global)
        let report = try await vault.tokens.importTokens(
            from: path, passphrase: passphrase.current(), replacing: replace,
            allowingExpensive: allowExpensive)
        for id in report.conflicts {
            Output.message(
                "coffer: The token \(id.service.printable) \(id.account.printable) (\(id.kind.name)) "
                    + "already exists with different contents and was not imported. To replace it, specify "
                    + "--replace.")
        }
        if global.json {
            try Output.json(report.document)
        } else {
            try Output.line(
                "Imported \(Plural.of(report.imported, "token")), replaced \(report.replaced). Already "
                    + "present: \(report.same). Left unchanged: \(report.conflicts.count).")
        }
        if !report.conflicts.isEmpty { throw ExitCode(CofferError.Code.conflict.exitCode) }
    }
}

extension TokenImportReport {
    fileprivate var document: JSONDocument {
        .object([
            ("imported", .number(imported)), ("replaced", .number(replaced)), ("same", .number(same)),
            (
                "conflicts",
                .list(
                    conflicts.map { id in
                        .object([
                            ("service", .text(id.service)), ("account", .text(id.account)),
                            ("kind", .text(id.kind.name)),
                        ])
                    })
            ),
        ])
    }
}
