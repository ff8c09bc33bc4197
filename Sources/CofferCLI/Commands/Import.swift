import ArgumentParser
import Coffer
import CofferBase
import CofferEngine
import SystemPackage

/// `coffer import`
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Take in the tokens of a file that export wrote.",
        discussion: """
            The whole file is checked before anything is stored. A token that is there already with \
            something else stays as it is: it is listed, and the command ends with 10. A file that asks for \
            more than 1 GiB of memory, or passes over more than 4 GiB in all, before anything in it can be \
            checked is refused without --allow-expensive.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var passphrase: ExportPassphrase

    @Flag(help: "Put the export's tokens in the place of those that are there with something else.")
    var replace = false

    @Flag(
        help:
            "Take a file whose passphrase costs more than 1 GiB, or passes over more than 4 GiB, to try."
    )
    var allowExpensive = false

    @Argument(help: "The file.")
    var file: String

    func run() async throws {
        let path = try FilePathArgument.path(file)
        let session = try await VaultOpener.unlocked(global)
        let report = try await session.tokens.importTokens(
            from: path, passphrase: passphrase.current(), replacing: replace,
            allowingExpensive: allowExpensive)
        for id in report.conflicts {
            Output.message(
                "coffer: \(id.service.printable) \(id.account.printable) (\(id.kind.name)) is there with "
                    + "something else and stays as it is.")
        }
        if global.json {
            try Output.json(report.document)
        } else {
            try Output.line(
                "Imported \(Plural.of(report.imported, "token")), replaced \(report.replaced). Already "
                    + "there: "
                    + "\(report.same). Left as they were: \(report.conflicts.count).")
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
