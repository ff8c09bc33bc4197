import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer token rename` command, which changes a token's service and account.
struct TokenRename: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename", abstract: "Give a token a new service and account; print its version.",
        discussion: """
            The value, class, expiry, scopes and attributes stay the same; version numbers start again. A \
            token that already has the new name is not replaced. If the command is interrupted, the token \
            may have both names. Without --kind, only the token of the kind access is renamed.
            """,
        aliases: ["mv"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: TokenName
    @OptionGroup var newName: NewTokenName

    func run() async throws {
        let old = try name.id()
        let new = try newName.id(kind: old.kind)
        let tokens = try await VaultOpener.unlocked(global).tokens
        try global.printVersion(await TokenCopier(tokens, from: old, to: new).rename())
    }
}

/// The `coffer token copy` command, which stores a token under a second service and account.
struct TokenCopy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy", abstract: "Store a token under a second service and account; print its version.",
        discussion: """
            Copies the value with its class, expiry, scopes and attributes. A token that already has the new \
            name is not replaced. Without --kind, only the token of the kind access is copied.
            """,
        aliases: ["cp"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: TokenName
    @OptionGroup var newName: NewTokenName

    func run() async throws {
        let old = try name.id()
        let new = try newName.id(kind: old.kind)
        let tokens = try await VaultOpener.unlocked(global).tokens
        try global.printVersion(await TokenCopier(tokens, from: old, to: new).copy())
    }
}

extension GlobalOptions {
    /// Prints a token's version, either alone on a line or as JSON.
    fileprivate func printVersion(_ version: UInt64) throws(CofferError) {
        guard json else { return try Output.line(String(version)) }
        try Output.json(.object([("version", .number(Int(version)))]))
    }
}
