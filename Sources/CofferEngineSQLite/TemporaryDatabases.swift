import CSQLite
package import GRDB

/// Databases that GRDB opens by itself, with a configuration of this package.
package enum TemporaryDatabases {
    /// The label of the connection on which GRDB's migrator tries its migrations, in a plain file of the
    /// temporary directory, to compare the schemas.
    private static let migratorLabel = "GRDB.DatabaseMigrator.temporary"

    /// Moves such a database, which is still empty, into memory, so that nothing of it is written in clear;
    /// returns whether it is one.
    package static func moveIntoMemory(_ db: Database) -> Bool {
        guard db.configuration.label == migratorLabel else { return false }
        let flags = UInt32(SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE)
        return unsafe sqlite3_deserialize(db.sqliteConnection, "main", nil, 0, 0, flags) == SQLITE_OK
    }
}
