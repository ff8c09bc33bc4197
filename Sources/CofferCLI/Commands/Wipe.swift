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

    func run() async throws {
        guard yes else {
            throw CofferError(.invalidInput, "This erases the vault for good: say --yes if you mean it.")
        }
        let receipt = try await Session.wipe(at: Opening.location(global))
        guard !global.json else { return try Output.json(receipt.document) }
        try Output.line(
            "Wiped vault \(receipt.vaultID): its keys were gone after \(receipt.milliseconds) ms.")
        for (kind, count) in receipt.removed.sorted(by: { $0.key < $1.key }) {
            try Output.line("  \(kind): \(count)")
        }
        try Output.line("Cannot be proved gone:")
        for place in receipt.unproved { try Output.line("  \(place)") }
    }
}

extension WipeReceipt {
    fileprivate var milliseconds: String { String((keysDestroyedAfterMilliseconds * 10).rounded() / 10) }

    fileprivate var document: JSONDocument {
        .object([
            ("vaultID", .text(vaultID.uuidString)), ("reason", .text(reason)),
            ("started", .text(started.iso8601)),
            ("finished", .text(finished.iso8601)),
            ("keysDestroyedAfterMilliseconds", .decimal(keysDestroyedAfterMilliseconds)),
            ("completesInterrupted", .flag(completesInterrupted)),
            ("removed", .object(removed.sorted { $0.key < $1.key }.map { ($0.key, .number($0.value)) })),
            ("unproved", .list(unproved.map { .text($0) })),
        ])
    }
}
