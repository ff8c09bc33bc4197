import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferDatabase

/// The command with which `coffer` asks for the SQLite library that this program loads, for
/// `coffer version` and `coffer doctor`.
struct LinkedSQLiteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "linked-sqlite",
        abstract: "Print the version of the SQLite library and the checks on it, as JSON.",
        shouldDisplay: false)

    @OptionGroup var global: NoVaultOptions

    func run() throws(CofferError) {
        try Output.json(
            .object([
                ("version", .text(LinkedSQLite.version)),
                (
                    "checks",
                    .list(
                        LinkedSQLite.protections().map {
                            .object([
                                ("name", .text($0.name)), ("status", .text($0.status.rawValue)),
                                ("message", .text($0.message)),
                            ])
                        })
                ),
            ]))
    }
}
