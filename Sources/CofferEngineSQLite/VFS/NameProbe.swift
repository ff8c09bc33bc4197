import CSQLite
import Glibc
import Synchronization

/// A probe that shows how SQLite itself parses a database's name, for the tests that compare ``DatabaseURI``
/// with SQLite. The probe registers two VFSs that record the names of the files that SQLite asks them to
/// open, but open none of these files.
@safe package enum NameProbe {
    /// An interpretation of a name by SQLite.
    package enum Answer: Sendable, Equatable {
        /// SQLite asked one of the two VFSs to open a file.
        case file(vfs: String, DatabaseURI)
        /// SQLite asked neither VFS to open a file, but succeeded: it opened an in-memory or a temporary
        /// database.
        case nothing
        case refused
    }

    /// The names of the two VFSs: the default of each connection, and another one.
    package static let own = "probe-own"
    package static let other = "probe-other"

    private static let asked = Mutex<(vfs: String, uri: DatabaseURI)?>(nil)
    private static let order = Mutex<Bool>(false)

    /// Opens the database with this name, which must not contain a NUL byte, and closes it immediately.
    package static func open(_ name: [UInt8]) -> Answer {
        order.withLock { areRegistered in
            if !areRegistered {
                for vfs in [own, other] { unsafe sqlite3_vfs_register(make(vfs), 0) }
                areRegistered = true
            }
            asked.withLock { $0 = nil }
            var connection: OpaquePointer?
            // Open read-only, so that a name that selects a VFS of the system creates no file.
            let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            let text = (name + [0]).map { CChar(bitPattern: $0) }
            let result = unsafe sqlite3_open_v2(text, &connection, flags, own)
            unsafe sqlite3_close_v2(connection)
            if let asked = asked.withLock({ $0 }) { return .file(vfs: asked.vfs, asked.uri) }
            return result == SQLITE_OK ? .nothing : .refused
        }
    }

    /// Creates a VFS with this name. Its memory is never freed, because SQLite keeps it.
    private static func make(_ name: String) -> UnsafeMutablePointer<sqlite3_vfs> {
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        unsafe vfs.initialize(to: sqlite3_vfs())
        unsafe vfs.pointee.iVersion = 1
        unsafe vfs.pointee.szOsFile = Int32(MemoryLayout<sqlite3_file>.size)
        unsafe vfs.pointee.mxPathname = 4096
        unsafe vfs.pointee.zName = UnsafePointer(strdup(name))
        unsafe vfs.pointee.xFullPathname = { _, path, size, output in
            guard let path = unsafe path, let output = unsafe output else { return SQLITE_CANTOPEN }
            let bytes = unsafe CText.bytes(path)
            guard bytes.count < Int(size) else { return SQLITE_CANTOPEN }
            unsafe SharedMemoryRegion(UnsafeMutableRawPointer(output), count: Int(size)).copy(bytes + [0])
            return SQLITE_OK
        }
        unsafe vfs.pointee.xOpen = { vfs, path, file, _, _ in
            unsafe file?.pointee.pMethods = nil
            if let vfs = unsafe vfs, let path = unsafe path {
                unsafe NameProbe.note(String(cString: vfs.pointee.zName), path)
            }
            return SQLITE_CANTOPEN
        }
        return unsafe vfs
    }

    private static func note(_ vfs: String, _ path: UnsafePointer<CChar>) {
        var parameters: [DatabaseURI.Parameter] = []
        while let name = unsafe sqlite3_uri_key(path, Int32(parameters.count)) {
            let key = unsafe CText.bytes(name)
            // SQLite stores each value after its name. A lookup by name would return the first of several
            // values.
            parameters.append(
                DatabaseURI.Parameter(name: key, value: unsafe CText.bytes(name + key.count + 1)))
        }
        let uri = DatabaseURI(path: unsafe CText.bytes(path), parameters: parameters)
        asked.withLock { $0 = (vfs, uri) }
    }

}
