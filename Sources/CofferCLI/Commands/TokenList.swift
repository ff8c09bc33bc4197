import ArgumentParser
import Coffer
import CofferBase

/// `coffer token list`
struct TokenList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List names and metadata of the tokens, never values.")

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let session = try await Opening.unlocked(global)
        let infos = try await session.tokens.list()
        if global.json { return try Output.json(.object([("tokens", .list(infos.map(\.document)))])) }
        let rows = infos.map { info in
            [
                info.id.service.printable, info.id.account.printable, info.id.kind.name, String(info.version),
                info.protection.name + (info.isVolatile ? ", volatile" : ""),
                info.expires?.iso8601 ?? "-",
            ]
        }
        for line in TextTable.lines(
            ["SERVICE", "ACCOUNT", "KIND", "VERSION", "CLASS", "EXPIRES"], rows, textColumns: 3)
        {
            try Output.line(line)
        }
    }
}

/// `coffer token remove`
struct TokenRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove a token.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: TokenName

    @Option(help: ArgumentHelp("Remove only this version.", valueName: "n"))
    var ifVersion: UInt64?

    func run() async throws {
        let id = try name.id()
        let session = try await Opening.unlocked(global)
        guard try await session.tokens.remove(id, ifVersion: ifVersion) else {
            throw CofferError(.absent, "There is no such token.")
        }
        if global.json { try Output.json(.object([("removed", .flag(true))])) }
    }
}

extension TokenInfo {
    fileprivate var document: JSONDocument {
        .object([
            ("service", .text(id.service)), ("account", .text(id.account)), ("kind", .text(id.kind.name)),
            ("class", .text(protection.name)), ("version", .number(Int(version))),
            ("volatile", .flag(isVolatile)),
            ("stored", .text(stored.iso8601)), ("expires", expires.map { .text($0.iso8601) } ?? .none),
            ("scopes", .list(scopes.map { .text($0) })),
            ("attributes", .object(attributes.sorted { $0.key < $1.key }.map { ($0.key, .text($0.value)) })),
        ])
    }
}
