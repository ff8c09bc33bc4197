import ArgumentParser
import CofferBase
import CofferCommandLine

/// A command that the program `coffer-database` runs. Its options and its help are there.
protocol DatabaseProgramCommand: ForwardedCommand, AsyncParsableCommand {
    var words: [String] { get }
}

extension DatabaseProgramCommand {
    mutating func run() async throws { try DatabaseProgram.become([Self._commandName] + words) }
}

/// The `coffer database` command.
struct DatabaseCommand: DatabaseProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "database",
        abstract: "Query encrypted SQLite databases and convert them between formats.")
    static let subcommandNames = ["query", "convert", "list", "remove"]

    @Argument(
        parsing: .captureForPassthrough, help: "The command and its arguments.",
        completion: NameCompletion.database)
    var words: [String] = []
}

/// The `coffer soup` command.
struct SoupCommand: DatabaseProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "soup", abstract: "Store JSON documents in the vault and query them by indexed paths.")
    static let subcommandNames = ["list", "show", "query", "upsert", "remove"]

    @Argument(
        parsing: .captureForPassthrough, help: "The command and its arguments.",
        completion: NameCompletion.database)
    var words: [String] = []
}

/// The `coffer backup` command.
struct BackupCommand: DatabaseProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Back up the whole vault to one file, and restore it.")
    static let subcommandNames = ["create", "verify", "list", "restore"]

    @Argument(
        parsing: .captureForPassthrough, help: "The command and its arguments.",
        completion: NameCompletion.database)
    var words: [String] = []
}

/// The `coffer reclass` command.
struct ReclassCommand: DatabaseProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "reclass",
        abstract: "Give tokens, files, databases and key pairs another protection class.")
    static let subcommandNames: [String] = []

    @Argument(
        parsing: .captureForPassthrough, help: "The items and the options.",
        completion: NameCompletion.database)
    var words: [String] = []
}
