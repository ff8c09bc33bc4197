import CSQLite

/// How SQLite opened a database file.
struct FileOpening {
    /// The full path.
    let path: [UInt8]
    /// The token in the file's name that stands for a key; `nil` for the copy that `VACUUM INTO` creates.
    let token: String?
    let isWritable: Bool
    /// Whether a new database reserves the space for `auto_vacuum` from its first page on.
    let hasPointerMap: Bool
    /// Set when it is the copy of a `VACUUM INTO`, even if its name has a token.
    let vacuumTarget: VacuumTarget?

    /// Whether it is the file that a key was registered for, not a copy of another.
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
