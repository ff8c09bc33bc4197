import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import FoundationEssentials

/// The `coffer run` command, which runs another command with tokens in files or in its environment.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command with tokens in files that only the command inherits, or in its environment.",
        discussion: """
            Prefer --file: the command inherits an in-memory file that nobody can change, and the variable \
            contains the file's path, /proc/self/fd/N. Any program with an option or a variable for a \
            secret file can read it. With --env, the variable contains the token itself: every process of \
            this user can read it in /proc while the command runs, every program that the command starts \
            inherits it, and some programs print their environment in crash reports.

            SERVICE and ACCOUNT are separated by the last /. Inside a name, write %2F for /, %23 for # and \
            %25 for %. KIND is access, refresh, id or other; without one it is access.

            The exit code is the command's own, or 128 plus the signal number if a signal ended it; 127 if \
            there is no such command, or 126 if it cannot be executed. \
            Termination signals are passed on to the command, which is killed if it does not end within \
            --grace. SIGHUP, SIGUSR1 and SIGUSR2 are only passed on. With --json, the command's standard \
            output goes to standard error, and the JSON document contains its exitCode.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(
        name: .customLong("file"),
        help: ArgumentHelp(
            "Set NAME to the path of a file with this token; may be repeated.",
            valueName: "name=service/account"))
    var files: [String] = []

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp(
            "Set NAME to this token, visible to all processes of this user; may be repeated.",
            valueName: "name=service/account"))
    var variables: [String] = []

    @Flag(help: "Also pass tokens that have expired.")
    var allowExpired = false

    @Option(
        help: ArgumentHelp(
            "How long the command may take to end after the first termination signal: 1 to 3600.",
            valueName: "seconds"))
    var grace = 10

    @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
    var command: [String]

    func run() async throws {
        guard !command.isEmpty else { throw CofferError(.invalidInput, "Specify a command after --.") }
        guard (1...3600).contains(grace) else {
            throw CofferError(.invalidInput, "--grace takes 1 to 3600 seconds.")
        }
        let secrets = try await secrets()
        let signals = TerminationSignals.installForProgram(grace: UInt32(grace))
        let result: Result<Int32, CofferError>
        do throws(CofferError) {
            result = .success(
                try secrets.run(
                    command.map { ProgramArguments.bytes($0) }, outputToErrors: global.json))
        } catch {
            result = .failure(error)
        }
        signals.release()
        let code = try CommandNotStarted.marking { try result.get() }
        if global.json { try Output.json(.object([("exitCode", .number(Int(code)))])) }
        guard code == 0 else { throw ExitCode(code) }
    }

    /// Reads the tokens for the command. The vault and its keys are released when this method returns.
    private func secrets() async throws(CofferError) -> ChildSecrets {
        var references: [(token: TokenReference, isFile: Bool)] = []
        for text in files { references.append((try TokenReference(text, of: "--file"), true)) }
        for text in variables { references.append((try TokenReference(text, of: "--env"), false)) }
        guard !references.isEmpty else {
            throw CofferError(.invalidInput, "Specify at least one token with --file or --env.")
        }
        let tokens = try await VaultOpener.unlocked(global).tokens
        var found: [(name: String, token: Token, isFile: Bool)] = []
        for reference in references {
            let token = try await token(reference.token.id, in: tokens)
            found.append((reference.token.name, token, reference.isFile))
        }
        if !files.isEmpty, FileStore.isSwapActive {
            Output.message("coffer: Swap is active, so the in-memory files may be written to disk.")
        }
        return try Self.secrets(found)
    }

    private static func secrets(
        _ found: [(name: String, token: Token, isFile: Bool)]
    ) throws(CofferError) -> ChildSecrets {
        var secrets = try ChildSecrets.make()
        for (name, token, isFile) in found {
            try token.exposing { (bytes) throws(CofferError) in
                if isFile {
                    try secrets.setFile(name, to: bytes)
                } else {
                    try secrets.setVariable(name, to: bytes)
                }
            }
        }
        return secrets
    }

    private func token(_ id: TokenID, in tokens: TokenStore) async throws(CofferError) -> Token {
        let name = "\(id.service)/\(id.account)".printable
        guard let stored = try await tokens.get(id) else {
            throw CofferError(
                .absent,
                "There is no \(id.kind.name) token for \(name). To list all tokens, run coffer token "
                    + "list.")
        }
        guard allowExpired || !stored.info.isExpired(at: Date()) else {
            throw CofferError(
                .refused,
                "The token for \(name) expired at \(stored.info.expires?.iso8601 ?? "some time"). "
                    + "Refresh the token, or pass it with --allow-expired.")
        }
        return stored.token
    }
}
