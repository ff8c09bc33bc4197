import ArgumentParser
import Coffer
import CofferBase
import CofferEngine

/// `coffer git-credential`, also called as `git-credential-coffer`
struct GitCredential: AsyncParsableCommand {
    static let name = "git-credential"
    static let configuration = CommandConfiguration(
        commandName: name, abstract: "Credential helper for git: stores git's passwords.",
        discussion: """
            Link this program as git-credential-coffer into a directory of PATH and configure git: git \
            config --global credential.helper coffer. The action is get, store or erase; git's request comes \
            on standard input. Passwords are stored as tokens of the service git:URL; expired ones are not \
            returned. Unlock the vault first: git cannot ask for the passcode.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "get, store or erase; anything else is ignored, as git requires.")
    var action: String

    func run() async throws {
        guard ["get", "store", "erase"].contains(action) else { return }
        let request = try GitRequest.read()
        let credentials = GitCredentials(tokens: try await VaultOpener.unlockedForHelper(global).tokens)
        switch action {
        case "get":
            let answer = try await credentials.answer(to: request)
            try Output.bytes(answer.span)
        case "store": try await credentials.store(request)
        default: try await credentials.erase(request)
        }
    }
}
