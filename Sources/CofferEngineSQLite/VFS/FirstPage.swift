import CSQLite
import CofferBase

/// Makes the first page of a database that is to vacuum itself.
///
/// SQLite takes `PRAGMA auto_vacuum` only while it may still choose a database's page size, and that is
/// pinned from the start here, with the room at the end of each page. So a connection of its own, which is
/// told of the wish when it opens the empty file, makes the first page, under SQLite's own locks and journal.
enum FirstPage {
    /// Says in a file's name that a new database has pages for `auto_vacuum`.
    static let parameter = "coffer_pointer_map"
    private static let busyTimeout: Int32 = 10_000

    /// The number that `PRAGMA auto_vacuum` is set to; `nil` for off and for what SQLite does not understand.
    private static func mode(_ value: String) -> Int? {
        switch value.foldedASCII {
        case "full", "1": 1
        case "incremental", "2": 2
        default: nil
        }
    }

    /// Makes it, when the pragma's value asks for it; returns SQLite's code.
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
    /// `PRAGMA auto_vacuum` on this file, before SQLite sees it.
    func prepareAutoVacuum(_ value: String) -> Int32 {
        var level: Int32 = 0
        let isKnown = unsafe lower.control(SQLITE_FCNTL_LOCKSTATE, &level) == SQLITE_OK
        // Inside a transaction SQLite has found the database empty already.
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
    /// What is known of page 1.
    enum FirstPageState {
        case opens
        /// It does not open, or there is none.
        case foreign
        /// Nothing can be said of it.
        case unreadable(Int32)
    }
}
