import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import SystemPackage

/// The `coffer users` command, which lists the user vaults inside the vault.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "List the user vaults inside the vault. Needs no passcode.",
        discussion: """
            Create a user vault with coffer init --user NAME, and use it by adding --user NAME to any \
            command. It has its own keys and passcode. coffer wipe --user NAME erases it alone; wiping the \
            enclosing vault erases it too.

            The vault does not store user names, so without names the list shows only the directories. With \
            names, it shows these users' vaults, and the command ends with 3 if a user has none.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The names of users to look for.")
    var names: [String] = []

    /// A user's vault, as shown in the list.
    fileprivate struct Entry {
        let name: String?
        let location: VaultLocation
        /// The vault's state or, if the state could not be read, an error code.
        let state: String
        let vaultID: String?
    }

    func run() async throws {
        guard global.user == nil else {
            throw CofferError(.invalidInput, "A user vault cannot contain other vaults. Omit --user.")
        }
        let home = try VaultOpener.homeLocation(global)
        let all = try home.namespaces()
        var entries: [Entry] = []
        for name in names {
            let location = try home.namespace(of: name)
            guard all.contains(where: { $0.path == location.path }) else {
                throw VaultOpener.noVault(of: name, .absent)
            }
            entries.append(await Self.entry(location, name))
        }
        if names.isEmpty {
            for location in all { entries.append(await Self.entry(location, nil)) }
            if !all.isEmpty {
                Output.message(
                    "coffer: User names are not stored. To look up a user, run coffer users NAME.")
            }
        }
        try show(entries)
    }

    private static func entry(_ location: VaultLocation, _ name: String?) async -> Entry {
        do throws(CofferError) {
            let status = try await Vault.status(at: location)
            return Entry(
                name: name, location: location, state: status.state.rawValue,
                vaultID: status.vaultID?.description)
        } catch {
            return Entry(name: name, location: location, state: error.code.name, vaultID: nil)
        }
    }

    private func show(_ entries: [Entry]) throws(CofferError) {
        guard !global.json else {
            return try Output.json(.list(entries.map(\.document)))
        }
        let rows = entries.map { entry in
            [
                entry.name?.printable ?? "-", entry.state, entry.vaultID ?? "-",
                entry.location.path.lastComponent?.string ?? "-",
            ]
        }
        for line in TextTable.lines(["USER", "STATE", "VAULT", "DIRECTORY"], rows) {
            try Output.line(line)
        }
    }
}

extension UsersCommand.Entry {
    fileprivate var document: JSONDocument {
        .object([
            ("user", name.map { .text($0) } ?? .none), ("state", .text(state)),
            ("vaultID", vaultID.map { .text($0) } ?? .none),
            ("directory", .text(location.path.string)),
        ])
    }
}
