import ArgumentParser

/// `coffer database`
struct DatabaseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "database",
        abstract: "Query encrypted SQLite databases and convert between formats.",
        discussion: """
            Formats: gcm1 is Coffer's own; sqlcipher4 is SQLCipher 4 with its defaults; sqlcipher3 is \
            SQLCipher 3 with its defaults, read-only.

            These commands do not open the databases of a vault and need no vault directory: the key of a \
            database comes from a descriptor. Programs open the databases of a vault with VaultDatabases.
            """,
        subcommands: [DatabaseQuery.self, DatabaseConvert.self])
}
