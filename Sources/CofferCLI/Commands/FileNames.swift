import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// The `coffer file names` command, which shell completion runs to list the words for stored files.
struct FileNames: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "names", abstract: "Print the words that shell completion offers for stored files.",
        discussion: """
            Never asks for a passcode, so the command fails while the vault is locked. Ends with 9 if it \
            takes five seconds.
            """,
        shouldDisplay: false)

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        NameCompletion.startDeadline()
        let vault = try await VaultOpener.unlockedSilently(global)
        let words = FileReference.words(for: try await vault.files.listing())
        guard !global.json else {
            return try Output.json(.object([("names", .list(words.map { .text($0) }))]))
        }
        for word in words { try Output.line(word) }
    }
}
