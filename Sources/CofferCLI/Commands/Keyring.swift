import ArgumentParser
import Coffer
import CofferBase

/// `coffer keyring`
struct KeyringCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keyring", abstract: "Move the device key and the tokens to another keyring.",
        subcommands: [Move.self])

    /// `coffer keyring move`
    struct Move: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "move",
            abstract: "Copy everything, read it back, and only then remove it from the old place.",
            discussion: """
                To the embedded keyring it asks for the passcode, where one is set: the device key is a \
                file of the home then. To the desktop's keyring it needs none. When it is interrupted, \
                everything is still in one place or already in the other; say it again.
                """)

        @OptionGroup var global: GlobalOptions

        @Option(help: "Where to: file is the embedded keyring, secret-service the desktop's.")
        var to: KeyringWord

        func run() async throws {
            let session = try await VaultOpener.session(global)
            let move = try await Self.move(session, to.backend, global)
            if move.left > 0 {
                Output.message(
                    "coffer: \(move.left) sealed items are left in the Secret Service; the next command "
                        + "tries again to remove them.")
            }
            guard !global.json else {
                return try Output.json(
                    .object([
                        ("from", .text(move.from.rawValue)), ("to", .text(move.to.rawValue)),
                        ("tokens", .number(move.tokens)), ("left", .number(move.left)),
                    ]))
            }
            try Output.line(
                "Moved the device key and \(Plural.of(move.tokens, "token")) from \(move.from.rawValue) to "
                    + "\(move.to.rawValue).")
        }

        private static let noTerminal =
            "Moving to the embedded keyring needs the passcode, also while the vault is unlocked, and there "
            + "is "
            + "no terminal to ask for it: give it with --passcode-fd."

        /// Moves; where the passcode is needed, with that of `--passcode-fd`, or asked for.
        private static func move(
            _ session: Vault, _ backend: KeyringBackend, _ global: GlobalOptions
        ) async throws(CofferError) -> StorageMigration {
            let given = try VaultOpener.passcode(global)
            do throws(CofferError) {
                return try await VaultOpener.waitingForDelay { () async throws(CofferError) in
                    try await session.migrateStorage(to: backend, passcode: given)
                }
            } catch {
                guard error.code == .locked, given == nil else { throw error }
                guard let typed = try await VaultOpener.currentPasscode(global, of: session) else {
                    throw CofferError(.locked, noTerminal)
                }
                return try await VaultOpener.waitingForDelay { () async throws(CofferError) in
                    try await session.migrateStorage(to: backend, passcode: typed)
                }
            }
        }
    }

    /// The keyrings as words of the command line.
    enum KeyringWord: String, CaseIterable, ExpressibleByArgument {
        case file
        case secretService = "secret-service"

        var backend: KeyringBackend { self == .file ? .file : .secretService }
    }
}
