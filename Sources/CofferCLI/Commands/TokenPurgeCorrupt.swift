import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer token purge-corrupt` command, which removes damaged tokens that were stored while the vault
/// was locked.
struct TokenPurgeCorrupt: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge-corrupt",
        abstract: "Remove damaged tokens that were stored while the vault was locked; print how many.",
        discussion: """
            These tokens are unreadable. `coffer status`, `coffer unlock`, `coffer token list` and `coffer \
            doctor` report how many there are. Needs no passcode.
            """)

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await VaultOpener.vault(global)
        let count = try await vault.tokens.removeCorruptPendingTokens()
        if global.json {
            try Output.json(.object([("discarded", .number(count))]))
        } else {
            try Output.line(String(count))
        }
    }
}

/// Messages about unreadable tokens that arrived while the vault was locked.
enum CorruptPendingTokens {
    /// Prints the number of unreadable tokens, if there are any, and explains how to proceed.
    static func report(_ count: Int) {
        guard count > 0 else { return }
        Output.message(
            count == 1
                ? "coffer: 1 token that was stored while the vault was locked is damaged. Store it "
                    + "again, then run coffer token purge-corrupt."
                : "coffer: \(count) tokens that were stored while the vault was locked are damaged. "
                    + "Store them again, then run coffer token purge-corrupt.")
    }
}
