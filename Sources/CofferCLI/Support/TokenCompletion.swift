import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The completions of the names of tokens, and of words after commands that other programs run.
extension NameCompletion {
    /// The services of the stored tokens.
    static let service = CompletionKind.custom(NameCompletion.services)
    /// The accounts at the services that the command line names.
    static let account = CompletionKind.custom(NameCompletion.accounts)
    /// The words after `coffer oauth`.
    static let oauth = CompletionKind.custom(OAuthCompletion.words)
    /// The words after a command that opens databases.
    static let database = CompletionKind.custom(DatabaseCompletion.words)

    private static func services(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        await tokens(words).map(\.service).plainWords
    }

    private static func accounts(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        let named = words.prefix(max(0, index))
        return await tokens(words).filter { id in named.contains { $0.hasSameBytes(as: id.service) } }
            .map(\.account).plainWords
    }

    private static func tokens(_ words: [String]) async -> [TokenID] {
        startDeadline()
        guard let global = options(words), let vault = try? await VaultOpener.unlockedSilently(global),
            let listing = try? await vault.tokens.listing()
        else { return [] }
        return listing.tokens.map(\.id)
    }
}
