import ArgumentParser
import Coffer
import CofferBase
import FoundationEssentials

/// `coffer wipe`
struct WipeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe",
        abstract: "Erase the vault: keys first, then everything. Cannot be undone.",
        discussion: """
            Works while locked and needs no passcode. Prints a receipt. An interrupted wipe is finished by \
            the next command on the home.
            """)

    @OptionGroup var global: GlobalOptions

    @Flag(help: "Yes, erase it.")
    var yes = false

    @Flag(help: "The tokens alone; files, databases and the passcode stay.")
    var tokens = false

    @Option(help: ArgumentHelp("The namespace of one user alone.", valueName: "name"))
    var user: String?

    func run() async throws {
        guard yes else {
            throw CofferError(.invalidInput, "This erases the vault for good: say --yes if you mean it.")
        }
        let receipt = try await Session.wipe(scope(), at: Opening.location(global))
        guard !global.json else { return try Output.json(receipt.document) }
        try Output.line(
            "Wiped \(receipt.scope == "tokens" ? "the tokens of " : "")vault \(receipt.vaultID): its keys "
                + "were gone after \(receipt.milliseconds) ms.")
        for (kind, count) in receipt.removed.sorted(by: { $0.key < $1.key }) {
            try Output.line("  \(kind): \(count)")
        }
        try Output.line("Cannot be proved gone:")
        for place in receipt.unproved { try Output.line("  \(place)") }
    }
}

extension WipeCommand {
    private func scope() throws(CofferError) -> WipeScope {
        guard let user else { return tokens ? .tokens : .all }
        guard !tokens else { throw CofferError(.invalidInput, "Either --tokens or --user.") }
        return .user(user)
    }
}

extension WipeReceipt {
    fileprivate var milliseconds: String { String((keysDestroyedAfterMilliseconds * 10).rounded() / 10) }

    fileprivate var document: JSONDocument {
        .object([
            ("vaultID", .text(vaultID.uuidString)), ("scope", .text(scope)), ("reason", .text(reason)),
            ("started", .text(started.iso8601)),
            ("finished", .text(finished.iso8601)),
            ("keysDestroyedAfterMilliseconds", .decimal(keysDestroyedAfterMilliseconds)),
            ("completesInterrupted", .flag(completesInterrupted)),
            ("removed", .object(removed.sorted { $0.key < $1.key }.map { ($0.key, .number($0.value)) })),
            ("unproved", .list(unproved.map { .text($0) })),
        ])
    }
}
