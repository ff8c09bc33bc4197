import CSQLite

/// How SQLite opened a database file.
struct FileOpening {
    /// The full path.
    let path: [UInt8]
    /// The token in the file's name that stands for a key; `nil` for the copy that `VACUUM INTO` makes.
    let token: String?
    let isWritable: Bool
    /// Whether a new database is to have the room for `auto_vacuum` from its first page on.
    let hasPointerMap: Bool
    /// Set when it is that copy.
    let vacuumTarget: VacuumTarget?

    init(_ name: UnsafePointer<CChar>, _ flags: Int32, _ vacuumTarget: VacuumTarget?) {
        path = unsafe CText.bytes(name)
        token = unsafe Self.token(name)
        isWritable = flags & SQLITE_OPEN_READWRITE != 0
        hasPointerMap = unsafe sqlite3_uri_boolean(name, FirstPage.parameter, 0) != 0
        self.vacuumTarget = vacuumTarget
    }

    static func token(_ name: UnsafePointer<CChar>) -> String? {
        unsafe sqlite3_uri_parameter(name, DatabaseLease.tokenParameter).map { unsafe String(cString: $0) }
    }
}
