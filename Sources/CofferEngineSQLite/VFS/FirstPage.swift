import CSQLite
import CofferBase

/// A namespace for functions that create the first page of a database with `auto_vacuum`.
///
/// SQLite accepts `PRAGMA auto_vacuum` only while it may still choose the page size of a database. The
/// encrypting VFS fixes the page size and the reserve from the start. Therefore a separate connection, which
/// gets the setting when it opens the empty file, creates the first page, under SQLite's own locks and
/// journal.
enum FirstPage {
    /// The URI parameter that creates a new database with the pages for `auto_vacuum`.
    static let parameter = "coffer_pointer_map"
    private static let busyTimeout: Int32 = 10_000

    /// Returns the number of an `auto_vacuum` mode; `nil` for `NONE` and for values that SQLite does not
    /// understand.
    private static func mode(_ value: String) -> Int? {
        switch value.foldedASCII {
        case "full", "1": 1
        case "incremental", "2": 2
        default: nil
        }
    }

    /// Creates the page if the pragma's value turns `auto_vacuum` on. Returns SQLite's result code.
    static func make(_ value: String, at path: [UInt8], token: String) -> Int32 {
        guard let mode = mode(value) else { return SQLITE_OK }
        let query = "vfs=\(EncryptedVFS.name)&\(DatabaseKeyHandle.tokenParameter)=\(token)&\(parameter)=1"
        var connection: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI
        let opened = unsafe sqlite3_open_v2(
            DatabaseAddress.uri(for: path, query), &connection, flags, nil)
        defer { unsafe sqlite3_close_v2(connection) }
        guard opened == SQLITE_OK else { return opened }
        unsafe sqlite3_busy_timeout(connection, busyTimeout)
        return unsafe sqlite3_exec(connection, "PRAGMA auto_vacuum = \(mode)", nil, nil, nil)
    }
}

extension DatabaseFile {
    /// Handles `PRAGMA auto_vacuum` on this file before SQLite sees it.
    func prepareAutoVacuum(_ value: String) -> Int32 {
        var level: Int32 = 0
        let isKnown = unsafe lower.control(SQLITE_FCNTL_LOCKSTATE, &level) == SQLITE_OK
        // Inside a transaction, SQLite has already read that the database is empty.
        guard let token = opening.token, opening.isWritable, !opening.hasPointerMap, !entry.isReadOnly,
            lower.size == 0, isKnown, level == SQLITE_LOCK_NONE
        else { return SQLITE_NOTFOUND }
        let result = FirstPage.make(value, at: opening.path, token: token)
        guard result == SQLITE_OK else { return result }
        guardian.beginAgain()
        return SQLITE_NOTFOUND
    }
}

extension DatabaseFile {
    /// The state of page 1.
    enum FirstPageState {
        case opens
        /// The page does not open under the key, or does not exist.
        case foreign
        /// The page cannot be read, so its state is unknown.
        case unreadable(Int32)
    }
}
