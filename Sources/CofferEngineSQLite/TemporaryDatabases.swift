import CSQLite
package import GRDB

/// Databases that GRDB opens on its own, with a configuration of this package.
package enum TemporaryDatabases {
    /// The label of the connection on which GRDB's migrator runs its migrations to compare the schemas. Its
    /// database is a plain file in the temporary directory.
    private static let migratorLabel = "GRDB.DatabaseMigrator.temporary"

    /// Moves such a database, while it is still empty, into memory, so that nothing of it is written in
    /// plaintext. Returns whether it is one.
    package static func moveIntoMemory(_ db: Database) -> Bool {
        guard db.configuration.label == migratorLabel else { return false }
        let flags = UInt32(SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE)
        return unsafe sqlite3_deserialize(db.sqliteConnection, "main", nil, 0, 0, flags) == SQLITE_OK
    }
}
