import ArgumentParser

/// `coffer database`
struct DatabaseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "database",
        abstract: "Query encrypted SQLite databases and convert between formats.",
        discussion: """
            Formats: gcm1 is Coffer's own; sqlcipher4 is SQLCipher 4 with its defaults; sqlcipher3 is \
            SQLCipher 3 with its defaults, read-only.

            These commands open no vault's databases and use no home: a database's key comes on a \
            descriptor. A program opens the databases of a vault (VaultDatabases).
            """,
        subcommands: [DatabaseQuery.self, DatabaseConvert.self])
}
