import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// The completion of words after `coffer oauth`. The program `coffer-oauth` says which commands, options and
/// values there are, and without it nothing is offered.
enum OAuthCompletion {
    /// Returns the words that fit the place `index` on an unfinished command line.
    static func words(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        NameCompletion.startDeadline()
        let command = OAuthProgram.subcommand
        guard let start = words.firstIndex(where: { $0.hasSameBytes(as: command) }), start < index,
            let root = await ProgramDescription.commands({ () throws(CofferError) in
                try OAuthProgram.command(ProgramDescription.request)
            })
        else { return [] }
        var place = CommandPlace(in: root)
        for word in words[..<min(index, words.count)].dropFirst(start + 1) { place.take(word) }
        return await place.completions(of: prefix) { candidates in
            switch candidates {
            case .profiles:
                guard let vault = await vault(words) else { return [] }
                return ((try? await vault.tokens.profileNames()) ?? []).plainWords
            case .accounts(let profile):
                guard let vault = await vault(words) else { return [] }
                return ((try? await vault.tokens.sessionAccounts(of: profile)) ?? []).plainWords
            default: return []
            }
        }
    }

    private static func vault(_ words: [String]) async -> Vault? {
        guard let global = NameCompletion.options(words) else { return nil }
        return try? await VaultOpener.unlockedSilently(global)
    }
}
