import ArgumentParser
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import FoundationEssentials

/// `coffer token get`
struct TokenGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Write the token to standard output, byte for byte.",
        discussion: "With --json, the value is Base64 in the field valueBase64.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: TokenName

    func run() async throws {
        let id = try name.id()
        let vault = try await VaultOpener.unlocked(global)
        let asJSON = global.json
        let found: Void? = try await vault.tokens.withToken(for: id) { (token, info) throws(CofferError) in
            if info.isExpired(at: Date()) {
                Output.message("coffer: this token expired at \(info.expires?.iso8601 ?? "an unknown time").")
            }
            try token.exposing { (bytes) throws(CofferError) in
                try Output.content("valueBase64", bytes, asJSON: asJSON)
            }
        }
        guard found != nil else { throw CofferError(.absent, "There is no such token.") }
    }
}

extension Date {
    /// The date in ISO 8601 format, such as 2027-01-31T12:00:00Z.
    var iso8601: String { formatted(.iso8601) }
}
