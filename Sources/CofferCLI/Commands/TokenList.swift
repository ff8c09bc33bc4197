import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import FoundationEssentials

/// The `coffer token list` command, which lists the names and metadata of tokens.
struct TokenList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the names and metadata of tokens, never their values.",
        discussion: """
            The column STATE shows a token's special states: expired, volatile, stored while locked, \
            pending or damaged. A value that arrived while the vault was locked and is waiting to be \
            accepted is pending; it is listed below the token that it would replace, with its fingerprint: \
            see coffer token accept. A damaged stored token does not hide the others: the rest is listed, \
            the damaged one is shown by its keyed hash in place of the account, and the command ends with \
            7. The embedded keyring, however, is one sealed file: a single changed byte hides every token \
            in it. Damaged tokens that arrived while the vault was locked are only counted: see coffer \
            token purge-corrupt.
            """,
        aliases: ["ls"])

    @OptionGroup var global: GlobalOptions

    @Argument(
        help: """
            List only tokens whose service, account or label contains this text; the letters A to Z match a \
            to z. Damaged tokens, whose names are unknown, are always listed.
            """)
    var filter: String?

    func run() async throws {
        let tokens = try await VaultOpener.unlocked(global).tokens
        let listing = try await tokens.listing()
        let filter = TokenFilter(filter)
        let found = listing.tokens.filter(filter.matches)
        let pending = try await tokens.pending().filter { filter.matches($0.info) }
        if global.json {
            try Output.json(
                .object([
                    ("tokens", .list(found.map(\.document))),
                    ("pending", .list(pending.map(\.document))),
                    ("damaged", .list(listing.corrupt.map(\.document))),
                ]))
        } else {
            try show(found, pending, listing.corrupt)
        }
        CorruptPendingTokens.report(try await tokens.pendingTokens().corrupt)
        guard let corrupt = listing.corrupt.first else { return }
        Output.message(
            "coffer: \(Plural.of(listing.corrupt.count, "stored token")) could not be read. All other "
                + "tokens are listed. Remove damaged tokens by name with coffer token remove, or restore "
                + "the vault directory from a backup.")
        throw ExitCode(corrupt.code.exitCode)
    }

    private func show(
        _ tokens: [TokenInfo], _ pending: [PendingReplacement], _ corrupt: [UnreadableToken]
    ) throws(CofferError) {
        var rows = tokens.map { $0.row(version: String($0.version ?? 0), state: $0.states) }
        for waiting in pending {
            let row = waiting.info.row(version: "-", state: ["pending \(waiting.fingerprint)"])
            let place = tokens.lastIndex { $0.id == waiting.info.id }
            rows.insert(row, at: min(place.map { $0 + 1 } ?? rows.count, rows.count))
        }
        rows += corrupt.map {
            ["-", $0.name.printable, "-", "-", "-", "damaged (\($0.code.name))", "-", "-"]
        }
        let heading = ["SERVICE", "ACCOUNT", "KIND", "VERSION", "CLASS", "STATE", "EXPIRES", "LABEL"]
        for line in TextTable.lines(heading, rows, numbers: [3]) { try Output.line(line) }
    }
}

/// The `coffer token remove` command, which removes a token.
struct TokenRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a token.",
        discussion: """
            Values that arrived while the vault was locked and are waiting under the name are removed, too; \
            a message, or with --json the field waiting, reports how many.
            """,
        aliases: ["rm"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: TokenName

    @Option(help: ArgumentHelp("Remove only this version.", valueName: "n"))
    var ifVersion: UInt64?

    func run() async throws {
        let id = try name.id()
        let vault = try await VaultOpener.unlocked(global)
        guard let removed = try await vault.tokens.removeCounting(id, ifVersion: ifVersion) else {
            throw await vault.tokens.absence(of: id)
        }
        if removed.pending > 0 {
            let values = Plural.of(removed.pending, "value")
            Output.message(
                removed.wasStored
                    ? "coffer: Removed the token, and \(values) that arrived while the vault was "
                        + "locked and had the same name."
                    : "coffer: No token with this name was stored. Removed \(values) waiting under the name.")
        }
        if global.json {
            try Output.json(.object([("removed", .flag(true)), ("waiting", .number(removed.pending))]))
        }
    }
}

extension TokenInfo {
    /// The words for what is particular about a stored token.
    fileprivate var states: [String] {
        var states: [String] = []
        if isExpired(at: Date()) { states.append("expired") }
        if isEphemeral { states.append("volatile") }
        if isStoredWhileLocked { states.append("stored while locked") }
        return states
    }

    fileprivate func row(version: String, state: [String]) -> [String] {
        [
            id.service.printable, id.account.printable, id.kind.name, version, protection.name,
            state.isEmpty ? "-" : state.joined(separator: ", "), expires?.iso8601 ?? "-",
            attributes[TokenFilter.label]?.printable ?? "-",
        ]
    }

    /// The members of the JSON document that describes the token.
    var fields: [(String, JSONDocument)] {
        let sorted = attributes.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return [
            ("service", .text(id.service)), ("account", .text(id.account)), ("kind", .text(id.kind.name)),
            ("class", .text(protection.name)), ("version", .number(Int(version ?? 0))),
            ("volatile", .flag(isEphemeral)), ("storedWhileLocked", .flag(isStoredWhileLocked)),
            ("stored", .text(stored.iso8601)), ("expires", expires.map { .text($0.iso8601) } ?? .none),
            ("expired", .flag(isExpired(at: Date()))),
            ("scopes", .list(scopes.map { .text($0) })),
            ("attributes", .object(sorted.map { ($0.key, .text($0.value)) })),
        ]
    }

    fileprivate var document: JSONDocument { .object(fields) }
}

extension PendingReplacement {
    fileprivate var document: JSONDocument { .object([("fingerprint", .text(fingerprint))] + info.fields) }
}

extension UnreadableToken {
    fileprivate var document: JSONDocument {
        .object([("name", .text(name)), ("code", .text(code.name))])
    }
}
