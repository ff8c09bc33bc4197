import ArgumentParser
import CofferBase
import CofferCommandLine
import CofferEngine

/// The `coffer oauth` command. The program `coffer-oauth` runs its subcommands, so that the libraries that
/// speak to servers are not loaded with this program.
struct OAuthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: OAuthProgram.subcommand,
        abstract: "Sign in at OAuth servers and use the tokens: see coffer oauth --help.",
        discussion: """
            The program coffer-oauth, in the directory of this program, runs these commands. Only it links \
            the libraries that speak to servers. To see the commands, run coffer oauth --help.
            """)

    @Argument(
        parsing: .captureForPassthrough, help: "The command and its arguments.",
        completion: NameCompletion.oauth)
    var words: [String] = []

    func run() async throws { try await Self.run(words) }

    /// Runs a command, which the arguments after this command's name specify. They are not parsed here, not
    /// even a request for help.
    static func run(_ words: [String]) async throws(CofferError) {
        if let first = words.first, first.hasSameBytes(as: "token") {
            guard try await !OAuthLiveToken.isWritten(Array(words.dropFirst())) else { return }
        }
        try OAuthProgram.become(words)
    }
}
