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
        let session = try await Opening.unlocked(global)
        let report = try await take(path, passphrase.current(), session.tokens)
        for id in report.conflicts {
            Output.message(
                "coffer: \(id.service.printable) \(id.account.printable) (\(id.kind.name)) is there with "
                    + "something else and stays as it is.")
        }
        if global.json {
            try Output.json(report.document)
        } else {
            try Output.line(
                "Imported \(report.imported) tokens, replaced \(report.replaced); \(report.same) were there "
                    + "already, \(report.conflicts.count) stay as they are.")
        }
        if !report.conflicts.isEmpty { throw ExitCode(CofferError.Code.conflict.exitCode) }
    }

    private func take(
        _ path: FilePath, _ passphrase: Passcode, _ tokens: TokenVault
    ) async throws(CofferError) -> TokenImportReport {
        do throws(CofferError) {
            return try await tokens.importTokens(
                from: path, passphrase: passphrase, replacing: replace,
                allowingExpensive: allowExpensive)
        } catch {
            // The one thing that an import refuses.
            guard error.code == .refused, !allowExpensive else { throw error }
            throw CofferError(.refused, error.message + " --allow-expensive does.")
        }
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
