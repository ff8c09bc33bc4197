import CSQLite

/// A description of how SQLite opened a database file.
struct FileOpening {
    /// The file's full path.
    let path: [UInt8]
    /// The token in the file's name that identifies the key; `nil` for a copy that `VACUUM INTO` creates
    /// under the key of its source.
    let token: String?
    let isWritable: Bool
    /// Whether a new database is created with the pages for `auto_vacuum`.
    let hasPointerMap: Bool
    /// A description of the copy, if the file is one that `VACUUM INTO` creates, with or without a token;
    /// otherwise `nil`.
    let vacuumTarget: VacuumTarget?

    /// Whether the file is the one for which a key was registered, not a copy of another database.
    var isOwn: Bool { token != nil && vacuumTarget == nil }

    init(_ name: UnsafePointer<CChar>, _ flags: Int32) {
        path = unsafe CText.bytes(name)
        token = unsafe Self.token(name)
        vacuumTarget = VacuumTarget.take(path, token: token.map { Array($0.utf8) })
        isWritable = flags & SQLITE_OPEN_READWRITE != 0
        hasPointerMap = unsafe sqlite3_uri_boolean(name, FirstPage.parameter, 0) != 0
    }

    static func token(_ name: UnsafePointer<CChar>) -> String? {
        unsafe sqlite3_uri_parameter(name, DatabaseKeyHandle.tokenParameter).map {
            unsafe String(cString: $0)
        }
    }
}
