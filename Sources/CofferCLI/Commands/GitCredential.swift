import ArgumentParser
import Coffer
import CofferBase
import CofferEngine

/// `coffer git-credential`, also called as `git-credential-coffer`
struct GitCredential: AsyncParsableCommand {
    static let name = "git-credential"
    static let configuration = CommandConfiguration(
        commandName: name, abstract: "Keep git's passwords: a credential helper for git.",
        discussion: """
            Link this program as git-credential-coffer into a folder of PATH and tell git: git config \
            --global credential.helper coffer. It takes get, store or erase, and git's request on standard \
            input. Passwords are kept as tokens of the service git:URL; an expired one is not given. Unlock \
            the home before: git has no way to ask for the passcode.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "get, store or erase; anything else is passed over, as git wants it.")
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
