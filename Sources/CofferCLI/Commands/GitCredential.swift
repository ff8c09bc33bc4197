import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// The `coffer git-credential` command, a credential helper that git runs as `git-credential-coffer`.
struct GitCredential: AsyncParsableCommand {
    static let name = "git-credential"
    static let configuration = CommandConfiguration(
        commandName: name, abstract: "Credential helper for git: stores git's passwords.",
        discussion: """
            Link this program as git-credential-coffer into a directory in PATH and configure git: git \
            config --global credential.helper coffer. The action is get, store or erase; git's request comes \
            on standard input. Passwords are stored as tokens for the service git:URL; expired ones are not \
            returned. If an OAuth profile lists the host and has one session, the password is its access \
            token, which is renewed first if it is due, or if git erased it because the server refused it; \
            a password for the user oauth2 or the session's account is then not stored. With several \
            sessions, put the account into the URL, as in https://ada@example.org/. \
            If the vault is locked, the helper asks for the passcode on the terminal each time git runs it; \
            coffer unlock asks only once. The helper does not ask if GIT_TERMINAL_PROMPT is 0.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The action: get, store or erase. Other actions are ignored, as git requires.")
    var action: String

    func run() async throws {
        guard ["get", "store", "erase"].contains(action) else { return }
        let request = try GitRequest.read()
        let prompt = Self.mayAsk ? "Vault passcode, to \(action) git's password: " : nil
        let vault = try await VaultOpener.unlockedForHelper(global, prompt: prompt)
        let credentials = GitCredentials(tokens: vault.tokens)
        if try await isForSession(request, vault.tokens) { return }
        switch action {
        case "get":
            let answer = try await credentials.answer(to: request)
            try Output.bytes(answer.span)
        case "store": try await credentials.store(request)
        default: try await credentials.erase(request)
        }
    }

    /// Answers the request if an OAuth session's profile lists the host, in which case nothing is stored.
    /// Returns `false` if the stored passwords must be looked at.
    private func isForSession(
        _ request: GitRequest, _ tokens: TokenStore
    ) async throws(CofferError) -> Bool {
        // A locked vault does not tell its profiles, but takes a password that waits for the next unlock.
        let sessions = OAuthGitCredentials(tokens: tokens, global: global)
        let isGet = action.hasSameBytes(as: "get")
        guard let session = try? await sessions.session(for: request, explains: isGet) else { return false }
        if action.hasSameBytes(as: "store"), try sessions.isAnswered(request, of: session) { return true }
        guard isGet else {
            guard let password = try request.token("password"),
                try await sessions.isAccessToken(password, of: session)
            else { return false }
            if action.hasSameBytes(as: "erase") { try await sessions.removeAccessToken(of: session) }
            return true
        }
        let answer = try await sessions.answer(to: request, of: session, mayAsk: Self.mayAsk)
        guard answer.count > 0 else { return false }
        try Output.bytes(answer.span)
        return true
    }

    /// Whether the environment variable `GIT_TERMINAL_PROMPT` allows a prompt on the terminal.
    private static var mayAsk: Bool {
        let answer = Environment.value("GIT_TERMINAL_PROMPT")?.foldedASCII ?? "1"
        return !["0", "false", "no", "off"].contains(answer)
    }
}
