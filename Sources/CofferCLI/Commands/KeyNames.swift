import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer key names` command, which shell completion runs to list the aliases of key pairs.
struct KeyNames: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "names", abstract: "Print the words that shell completion offers for key pairs.",
        discussion: """
            Works while the vault is locked, and leaves out aliases that a shell would expand. Ends with 9 \
            if it takes five seconds.
            """,
        shouldDisplay: false)

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        NameCompletion.startDeadline()
        let words = try await VaultOpener.vault(global).keyPairs.list().map(\.alias).plainWords
        guard !global.json else {
            return try Output.json(.object([("names", .list(words.map { .text($0) }))]))
        }
        for word in words { try Output.line(word) }
    }
}
