import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferDatabase

/// The `coffer database` command, which groups the subcommands for encrypted SQLite databases.
struct DatabaseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "database",
        abstract: "Query encrypted SQLite databases and convert them between formats.",
        discussion: """
            Formats: gcm1 is Coffer's own; sqlcipher4 is SQLCipher 4 with its defaults; sqlcipher3 is \
            SQLCipher 3 with its defaults, read-only. For other SQLCipher settings, use --kdf-iterations, \
            --page-size, --salt-hex with --clear-header, or --profile.

            A database's key comes from a descriptor, and no vault is needed; with --vault, the vault stores \
            the key instead. Programs open a vault's databases with VaultDatabases.
            """,
        subcommands: [
            DatabaseQuery.self, DatabaseConvert.self, DatabaseList.self, DatabaseRemove.self,
        ])
}

/// The `coffer database list` command, which lists the vault's own databases.
struct DatabaseList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the vault's own databases. Needs no passcode.", aliases: ["ls"])

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let databases = VaultDatabases(try await VaultOpener.vault(global))
        var found: [VaultDatabaseInfo] = []
        for name in try await databases.names() {
            guard let info = try await databases.info(of: name) else { continue }
            found.append(info)
        }
        guard !global.json else {
            return try Output.json(
                .list(
                    found.map {
                        .object([
                            ("name", .text($0.name)),
                            ("class", $0.protection.map { .text($0.name) } ?? .none),
                            ("volatile", .flag($0.isVolatile)),
                        ])
                    }))
        }
        let isMarked = found.contains(where: \.isVolatile)
        let rows = found.map {
            [$0.name, $0.protection?.name ?? "its key is missing"]
                + (isMarked ? [$0.isVolatile ? "volatile" : "-"] : [])
        }
        let header = ["DATABASE", "CLASS"] + (isMarked ? ["STATE"] : [])
        for line in TextTable.lines(header, rows) { try Output.line(line) }
    }
}

/// The `coffer database remove` command, which destroys one of the vault's own databases and its key.
struct DatabaseRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Destroy one of the vault's own databases and its key. Needs no passcode.",
        aliases: ["rm"])

    @OptionGroup var global: GlobalOptions

    @Option(
        help: ArgumentHelp("The database's name.", valueName: "name"), completion: DatabaseNames.database)
    var vault: String

    @Flag(help: "Confirm that the database may be destroyed. It cannot be recovered.")
    var yes = false

    func run() async throws {
        guard yes else {
            throw CofferError(
                .invalidInput, "This command destroys the database for good. Confirm with --yes.")
        }
        let databases = VaultDatabases(try await VaultOpener.vault(global))
        guard try await databases.remove(vault) else {
            throw CofferError(
                .absent,
                "The vault has no database \(vault.printable). To list its databases, run coffer "
                    + "database list.")
        }
        if global.json { try Output.json(.object([("removed", .flag(true))])) }
    }
}
