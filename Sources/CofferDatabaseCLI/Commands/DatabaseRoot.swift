import ArgumentParser
import CofferBase
import CofferCommandLine

/// The root command of the program `coffer-database`. People run its commands as those of `coffer`, so its
/// name is that one's.
struct DatabaseRoot: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coffer",
        abstract: "Run the commands of coffer that open databases.",
        discussion: """
            The program coffer-database runs these commands, and coffer starts it from its own directory. \
            Only it links SQLite.
            """,
        version: "coffer \(PackageVersion.current)",
        subcommands: [
            DatabaseCommand.self, SoupCommand.self, BackupCommand.self, ReclassCommand.self,
            RotateCommand.self, LinkedSQLiteCommand.self,
        ])

    /// Parses and runs the command, then exits with the code for the command's result.
    static func start(_ arguments: [String]) async -> Never {
        await ProgramStart.run(self, GlobalOptions.hoistGlobalOptions(arguments, root: self))
    }
}
