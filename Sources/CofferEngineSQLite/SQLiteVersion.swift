import CSQLite

/// The version of the linked SQLite library.
package enum SQLiteVersion {
    /// The version as a number, such as 3040001 for 3.40.1.
    package static var number: Int32 { sqlite3_libversion_number() }
}
