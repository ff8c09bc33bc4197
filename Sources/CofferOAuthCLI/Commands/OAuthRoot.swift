import ArgumentParser
import CofferBase
import CofferCommandLine

/// The root command of the program `coffer-oauth`, which people run as `coffer oauth`.
struct OAuthRoot: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coffer oauth",
        abstract: "Sign in at OAuth servers, keep tokens fresh, use them and take them back.",
        discussion: """
            A profile is a client of one server; a session is the sign-in of one account of a profile. \
            Everything is stored in the vault. Tokens are renewed when they are due, once for all processes.
            """,
        version: "coffer \(PackageVersion.current)",
        subcommands: [
            ProfileCommand.self, LoginCommand.self, TokenCommand.self, RefreshCommand.self,
            RevokeCommand.self, LogoutCommand.self, ListCommand.self, StatusCommand.self,
            IdentityCommand.self, KeyCommand.self,
        ])

    /// Parses and runs the command, then exits with the code for the command's result.
    static func start(_ arguments: [String]) async -> Never {
        await ProgramStart.run(self, GlobalOptions.hoistGlobalOptions(arguments, root: self))
    }
}
