import ArgumentParser
import CofferBase
import CofferCommandLine

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

    /// All top-level commands, everyday ones first.
    private static let subcommands: [any ParsableCommand.Type] = [
        InitCommand.self, StatusCommand.self, UnlockCommand.self, LockCommand.self, WatchCommand.self,
        PasscodeCommand.self, RecoveryCommand.self, AnchorCommand.self, TokenCommand.self, OAuthCommand.self,
        RunCommand.self, ServeCommand.self,
        FileCommand.self, SettingsCommand.self, PolicyCommand.self, ReclassCommand.self, RotateCommand.self,
        UpgradeCommand.self, UsersCommand.self,
        KeyringCommand.self, WipeCommand.self,
        RemoteWipeCommand.self,
        BackupCommand.self, ExportCommand.self, ImportCommand.self, DatabaseCommand.self, SoupCommand.self,
        KeyCommand.self, SSHAgentCommand.self, SSHCommand.self, PKCS11Command.self,
        CryptCommand.self, VectorsCommand.self, DoctorCommand.self,
        DemoCommand.self, GitCredential.self,
        DockerCredential.self, AWSCredentialProcess.self, VersionCommand.self,
    ]
}

extension CofferCommand {
    /// Reports whether the arguments run a command that removes keys. Such a command must start even under
    /// the tightest resource limits.
    static func isUrgent(_ arguments: [String]) -> Bool {
        let names = [LockCommand._commandName, WipeCommand._commandName]
        guard arguments.contains(where: { word in names.contains { $0.hasSameBytes(as: word) } }) else {
            return false
        }
        let first = GlobalOptions.hoistGlobalOptions(arguments, root: CofferCommand.self).first
        return first == LockCommand._commandName || first == WipeCommand._commandName
    }

    /// Replaces a leading `--version` with the `version` command, which can also print JSON, without what it
    /// would have to ask another program.
    private static func replacingVersionOption(_ arguments: [String]) -> [String] {
        guard let first = arguments.first, first.hasSameBytes(as: "--version") else { return arguments }
        return [VersionCommand._commandName, "--without-sqlite"] + arguments.dropFirst()
    }

    /// Parses and runs the command, then exits with the code for the command's result.
    static func start(_ arguments: some Sequence<String>) async -> Never {
        let words = Array(arguments)
        if let simple = SimpleCommands.read(words) { await ProgramStart.run(self, words, simple) }
        if OAuthLiveToken.isSimple(words) { await runOAuth(Array(words.dropFirst())) }
        let hoisted = GlobalOptions.hoistGlobalOptions(words, root: CofferCommand.self)
        if let first = hoisted.first, first.hasSameBytes(as: OAuthProgram.subcommand) {
            await runOAuth(Array(hoisted.dropFirst()))
        }
        if DatabaseProgram.isFor(hoisted) { becomeDatabaseProgram(words) }
        // The other program has the help of its commands.
        if hoisted.count > 2, hoisted[0].hasSameBytes(as: "help"),
            hoisted[1].hasSameBytes(as: OAuthProgram.subcommand)
        {
            await runOAuth(["help"] + hoisted.dropFirst(2))
        }
        await ProgramStart.run(self, replacingVersionOption(hoisted))
    }

    /// Replaces this process with the program that runs the commands that open databases. It parses the
    /// arguments as they are.
    private static func becomeDatabaseProgram(_ words: [String]) -> Never {
        do throws(CofferError) {
            try DatabaseProgram.become(words)
        } catch {
            exit(withError: Failure.reported(error, asJSON: GlobalOptions.wantsJSON(words), root: self))
        }
        exit()
    }

    /// Runs a command of `coffer oauth`, whose options and help the other program knows.
    private static func runOAuth(_ words: [String]) async -> Never {
        do throws(CofferError) {
            try await OAuthCommand.run(words)
        } catch {
            exit(withError: Failure.reported(error, asJSON: GlobalOptions.wantsJSON(words), root: self))
        }
        exit()
    }
}
