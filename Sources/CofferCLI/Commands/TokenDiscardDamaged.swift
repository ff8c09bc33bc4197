import ArgumentParser
import Coffer
import CofferBase

/// `coffer token discard-damaged`
struct TokenDiscardDamaged: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard-damaged",
        abstract: "Remove tokens that were stored while locked and are damaged; print how many.",
        discussion: "`coffer status` says how many there are. Needs no passcode.")

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let session = try await Opening.session(global)
        let count = try await session.tokens.discardDamagedTokens()
        if global.json {
            try Output.json(.object([("discarded", .number(count))]))
        } else {
            try Output.line(String(count))
        }
    }
}
