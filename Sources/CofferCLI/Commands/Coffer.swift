import ArgumentParser
import CofferBase

/// The program's root command.
struct CofferCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coffer",
        abstract: "Protect keys, tokens and files on Linux.",
        discussion: """
            Commands read secrets from standard input or a descriptor, and write them to standard output \
            only if you ask for them by name. Messages go to standard error.
            """,
        version: "coffer \(PackageVersion.current)", subcommands: subcommands)

    /// The end of the program's help. Whoever looks for a command should not have to read it first.
    static let exitCodes = """
        EXIT CODES:
          0 ok, 1 other failure, 3 absent, 4 locked, 5 wrong passcode, 6 wiped, 7
          corrupt or not authentic, 8 keyring unavailable, 9 timed out, 10 conflict, 11
          refused by policy, 12 not initialised, 13 already exists, 64 usage, 75 busy.
        """

    /// Reports whether the text is the help of the program itself, not of one of its commands.
    static func isOwnHelp(_ text: String) -> Bool {
        text.utf8.hasPrefix("OVERVIEW: ") && text.hasSameBytes(as: helpMessage(includeHidden: false))
    }

    /// All top-level commands, everyday ones first.
    private static let subcommands: [any ParsableCommand.Type] = [
        InitCommand.self, StatusCommand.self, UnlockCommand.self, LockCommand.self, WatchCommand.self,
        PasscodeCommand.self, TokenCommand.self, RunCommand.self, FileCommand.self, SettingsCommand.self,
        UsersCommand.self, KeyringCommand.self, WipeCommand.self, RemoteWipeCommand.self,
        ExportCommand.self, ImportCommand.self, DatabaseCommand.self, SoupCommand.self, KeyCommand.self,
        CryptCommand.self, VectorsCommand.self, DoctorCommand.self,
        DemoCommand.self, GitCredential.self,
        DockerCredential.self, AWSCredentialProcess.self, VersionCommand.self,
    ]
}

extension CofferCommand {
    /// Reports whether the arguments run a command that removes keys. Such a command must start even under
    /// the tightest resource limits.
    static func isUrgent(_ arguments: [String]) -> Bool {
        let first = GlobalOptions.hoistGlobalOptions(arguments, root: CofferCommand.self).first
        return first == LockCommand._commandName || first == WipeCommand._commandName
    }

    /// Rejects an unknown command with a suggestion. The parser would report an unexpected argument instead,
    /// and would answer a request for its help with the parent command's help.
    private static func checkNames(_ arguments: [String]) throws(UnknownWord) {
        if arguments.first?.hasSameBytes(as: "help") == true {
            let words = arguments.dropFirst().filter { !$0.utf8.hasPrefix("-") }
            try CommandNames.check(words, of: self, isHelp: true)
        } else {
            try CommandNames.check(arguments, of: self)
        }
    }

    /// Replaces a leading `--version` with the `version` command, which can also print JSON.
    private static func replacingVersionOption(_ arguments: [String]) -> [String] {
        guard let first = arguments.first, first.hasSameBytes(as: "--version") else { return arguments }
        return [VersionCommand._commandName] + arguments.dropFirst()
    }

    /// Parses and runs the command, then exits with the code for the command's result.
    static func start(_ arguments: some Sequence<String>) async -> Never {
        let hoisted = GlobalOptions.hoistGlobalOptions(Array(arguments), root: CofferCommand.self)
        let arguments = replacingVersionOption(hoisted)
        do {
            try checkNames(arguments)
            // Completions of names in the vault are asynchronous.
            var command = try await asyncParseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            exit(withError: Failure.reported(error, asJSON: GlobalOptions.wantsJSON(arguments)))
        }
        exit()
    }
}
