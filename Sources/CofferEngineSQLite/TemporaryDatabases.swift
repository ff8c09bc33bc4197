import CSQLite
package import GRDB

/// The databases that GRDB opens itself with one of this package's configurations.
package enum TemporaryDatabases {
    /// The label of the connection on which GRDB's migrator runs its migrations to compare schemas. That
    /// connection's database is an unencrypted file in the temporary directory.
    private static let migratorLabel = "GRDB.DatabaseMigrator.temporary"

    /// Moves the database that `db` has open into memory if it is the temporary database of GRDB's migrator.
    /// The database must still be empty, so that no data is written in plaintext. Returns whether it was
    /// moved.
    package static func moveIntoMemory(_ db: Database) -> Bool {
        guard db.configuration.label == migratorLabel else { return false }
        let flags = UInt32(SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE)
        return unsafe sqlite3_deserialize(db.sqliteConnection, "main", nil, 0, 0, flags) == SQLITE_OK
    }
}
