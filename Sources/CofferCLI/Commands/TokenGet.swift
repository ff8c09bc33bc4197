import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import FoundationEssentials

/// The `coffer token get` command, which writes a token to standard output.
struct TokenGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Write the token to standard output, byte for byte.",
        discussion: """
            An expired token is refused, with exit code 11, unless --allow-expired is specified. With \
            --json, the value is Base64 in the field valueBase64; the other fields, such as version, expires \
            and scopes, are the same as in token list.

            On a terminal, the command prints only text: a token with bytes that the terminal could \
            interpret as control characters is refused, with exit code 11, unless --force is specified.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: TokenName

    @Flag(help: "Write the token even if it has expired.")
    var allowExpired = false

    @Flag(help: "Write to a terminal even bytes that it could interpret as control characters.")
    var force = false

    func run() async throws {
        let id = try name.id()
        let vault = try await VaultOpener.unlocked(global)
        let asJSON = global.json
        let output = try ContentOutput(forcing: force)
        let found: Void? = try await vault.tokens.withToken(for: id) { (token, info) throws(CofferError) in
            try checkExpiry(of: info)
            try token.exposing { (bytes) throws(CofferError) in
                guard asJSON else { return try output.writeAll(bytes) }
                try Output.content("valueBase64", bytes, asJSON: true, with: info.fields)
            }
        }
        guard found != nil else { throw await vault.tokens.absence(of: id) }
    }

    private func checkExpiry(of info: TokenInfo) throws(CofferError) {
        guard let expires = info.expires, info.isExpired(at: Date()) else { return }
        guard allowExpired else {
            throw CofferError(
                .refused,
                "This token expired at \(expires.iso8601). To print the token anyway, specify "
                    + "--allow-expired.")
        }
        Output.message("coffer: This token expired at \(expires.iso8601).")
    }
}
