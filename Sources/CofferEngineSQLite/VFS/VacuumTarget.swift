import CSQLite
import CofferBase
import Glibc
import Synchronization

/// The copy that a `VACUUM INTO` on this thread is about to create.
///
/// SQLite attaches the copy by its bare name and does not report to the VFS which connection attaches it.
/// Therefore the authorizer, which SQLite calls just before it attaches the copy, registers the copy. The
/// copy gets the source's key and plaintext bytes, because a key may be used with only one salt. Like a
/// copied file, it accepts its source's pages as its own.
struct VacuumTarget: Sendable {
    /// The source's key.
    let entry: KeyEntry
    /// The plaintext bytes of the source's first page.
    let identity: [UInt8]
    /// The token in the copy's name; `nil` if the copy gets its source's key.
    let token: [UInt8]?

    private static let expected = Mutex<[UInt: (path: [UInt8], target: VacuumTarget)]>([:])

    /// Expects the next file that is opened on this thread to have this full path.
    static func expect(_ path: [UInt8], _ target: VacuumTarget) {
        let thread = UInt(pthread_self())
        expected.withLock { $0[thread] = (path, target) }
    }

    /// Clears the expectation for this thread, because the expected file was opened or will not be.
    static func drop() {
        let thread = UInt(pthread_self())
        expected.withLock { _ = $0.removeValue(forKey: thread) }
    }

    /// Returns the target if the opened file has the expected path and token. Clears the expectation.
    static func take(_ path: [UInt8], token: [UInt8]?) -> VacuumTarget? {
        let thread = UInt(pthread_self())
        return expected.withLock { expected in
            guard let found = expected.removeValue(forKey: thread) else { return nil }
            return found.path == path && found.target.token == token ? found.target : nil
        }
    }

    /// Returns the file of the database that the connection is vacuuming; `nil` if there is none.
    static func source(
        of connection: OpaquePointer, _ methods: UnsafeMutablePointer<sqlite3_io_methods>
    ) -> DatabaseFile? {
        var statement = unsafe sqlite3_next_stmt(connection, nil)
        while let current = unsafe statement {
            if unsafe sqlite3_stmt_busy(current) != 0, let text = unsafe sqlite3_sql(current),
                let schema = unsafe VacuumStatement.schema(in: CText.bytes(text))
            {
                return unsafe file(of: schema, connection, methods)
            }
            unsafe statement = unsafe sqlite3_next_stmt(connection, current)
        }
        return nil
    }

    private static func file(
        of schema: [UInt8], _ connection: OpaquePointer, _ methods: UnsafeMutablePointer<sqlite3_io_methods>
    ) -> DatabaseFile? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let name = (schema + [0]).map { CChar(bitPattern: $0) }
        let result = unsafe sqlite3_file_control(connection, name, SQLITE_FCNTL_FILE_POINTER, &file)
        guard result == SQLITE_OK else { return nil }
        return unsafe EncryptedMethods.object(file, methods) as? DatabaseFile
    }
}
