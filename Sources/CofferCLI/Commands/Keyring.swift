import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer keyring` command, which groups the subcommands for the vault's keyring.
struct KeyringCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keyring", abstract: "Move the device key and the tokens to another keyring.",
        subcommands: [Move.self])

    /// The `coffer keyring move` command, which moves the device key and the tokens to another keyring.
    struct Move: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "move",
            abstract: "Copy everything, verify the copy, and only then remove the original.",
            discussion: """
                Moving to the embedded keyring requires the passcode if one is set, because the device key \
                is then a file in the vault directory. Moving to the desktop keyring does not. If the move \
                is interrupted, everything is either still in the old keyring or already in the new one: run \
                the command again.
                """)

        @OptionGroup var global: GlobalOptions

        @Option(help: "The destination: file is the embedded keyring, secret-service the desktop keyring.")
        var to: KeyringArgument

        func run() async throws {
            let vault = try await VaultOpener.vault(global)
            let move = try await Self.move(vault, to.backend, global)
            if move.remaining > 0 {
                Output.message(
                    "coffer: Sealed items that could not be removed from the Secret Service: "
                        + "\(move.remaining). The next command will try again to remove them.")
            }
            guard !global.json else {
                return try Output.json(
                    .object([
                        ("from", .text(move.from.rawValue)), ("to", .text(move.to.rawValue)),
                        ("tokens", .number(move.tokens)), ("left", .number(move.remaining)),
                    ]))
            }
            try Output.line(
                "Moved the device key and \(Plural.of(move.tokens, "token")) from \(move.from.rawValue) to "
                    + "\(move.to.rawValue).")
        }

        private static let noTerminal =
            "Moving to the embedded keyring requires the passcode, even while the vault is unlocked, and "
            + "there is no terminal on which to ask for the passcode. Specify the passcode with "
            + "--passcode-fd."

        /// Moves the device key and the tokens to another keyring. Uses the passcode from `--passcode-fd` or,
        /// if a passcode is required, asks for it on the terminal.
        private static func move(
            _ vault: Vault, _ backend: KeyringBackend, _ global: GlobalOptions
        ) async throws(CofferError) -> StorageMigration {
            let suppliedPasscode = try VaultOpener.passcode(global)
            do throws(CofferError) {
                return try await VaultOpener.waitingForDelay { () async throws(CofferError) in
                    try await vault.migrateStorage(to: backend, passcode: suppliedPasscode)
                }
            } catch {
                guard error.code == .locked, suppliedPasscode == nil else { throw error }
                guard let typed = try await VaultOpener.currentPasscode(global, of: vault) else {
                    throw CofferError(.locked, noTerminal)
                }
                return try await VaultOpener.waitingForDelay { () async throws(CofferError) in
                    try await vault.migrateStorage(to: backend, passcode: typed)
                }
            }
        }
    }

    /// The destination keyrings, as the words that specify them on the command line.
    enum KeyringArgument: String, CaseIterable, ExpressibleByArgument {
        case file
        case secretService = "secret-service"

        var backend: KeyringBackend { self == .file ? .file : .secretService }
    }
}
