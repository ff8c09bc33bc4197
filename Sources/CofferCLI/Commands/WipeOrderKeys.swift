import ArgumentParser
import Coffer
import CofferBase
import CofferEngine

/// `coffer wipe-order pin`
struct WipeOrderPin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Take orders signed with this public key from now on.",
        discussion: """
            The holder of the private key can erase the vault, and pin and unpin other keys. Needs an \
            unlocked vault, or the passcode.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The public key in hexadecimal.")
    var key: String

    @Option(help: ArgumentHelp("What to call it.", valueName: "text"))
    var label = ""

    func run() async throws {
        let key = try AdministratorKey(hex: key)
        guard ProgramArguments.isText(label) else { throw CofferError(.invalidInput, "A label is UTF-8.") }
        try await VaultOpener.withPasscode(global) { (session) throws(CofferError) in
            try await session.pinAdministratorKey(key, label: label)
        }
        if global.json { try Output.json(.object([("pinned", .text(key.description))])) }
    }
}

/// `coffer wipe-order keys`
struct WipeOrderKeys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "List the keys whose orders this vault takes, and its own ids.")

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let session = try await VaultOpener.session(global)
        let keys = try await session.administratorKeys()
        let device = try DeviceID.current()
        guard !global.json else {
            let list = keys.map { key in
                JSONDocument.object([
                    ("key", .text(key.key.description)), ("pinned", .text(key.pinned.iso8601)),
                    ("label", .text(key.label)),
                ])
            }
            return try Output.json(
                .object([
                    ("vault", .text(session.vaultID.description)),
                    ("device", device.map { .text($0.description) } ?? .none), ("keys", .list(list)),
                ]))
        }
        try Output.line("vault: \(session.vaultID)")
        if let device { try Output.line("device: \(device)") }
        for key in keys {
            try Output.line("key: \(key.key) \(key.pinned.iso8601) \(key.label.printable)")
        }
    }
}

/// `coffer wipe-order unpin`
struct WipeOrderUnpin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin",
        abstract: "Take no order signed with this public key any more.",
        discussion: "Needs an unlocked vault, or the passcode.")

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The public key in hexadecimal.")
    var key: String

    func run() async throws {
        let key = try AdministratorKey(hex: key)
        try await VaultOpener.withPasscode(global) { (session) throws(CofferError) in
            try await session.removeAdministratorKey(key)
        }
        if global.json { try Output.json(.object([("removed", .text(key.description))])) }
    }
}
