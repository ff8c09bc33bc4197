import CofferBase
import CofferEngine
import CSQLite
import SystemPackage

/// A connection that does not use GRDB and serves only for copying.
@safe final class CopyConnection {
    private let handle: OpaquePointer
    private let path: FilePath
    private let keyHandle: DatabaseKeyHandle?

    private init(_ handle: OpaquePointer, _ path: FilePath, _ keyHandle: DatabaseKeyHandle?) {
        unsafe self.handle = handle
        self.path = path
        self.keyHandle = keyHandle
    }

    deinit { unsafe sqlite3_close_v2(handle) }

    /// Returns the URI with which SQLite opens a database under its key or, without a key, unencrypted.
    static func uri(for path: FilePath, _ keyHandle: DatabaseKeyHandle?) -> String {
        keyHandle?.uri(for: path) ?? DatabaseAddress.uri(for: path, "vfs=unix")
    }

    static func open(
        _ path: FilePath, _ flags: Int32, _ keyHandle: DatabaseKeyHandle?
    ) throws(CofferError) -> CopyConnection {
        var handle: OpaquePointer?
        let result = unsafe sqlite3_open_v2(
            uri(for: path, keyHandle), &handle, flags | SQLITE_OPEN_URI, nil)
        guard let handle = unsafe handle else { throw SQLiteFailure.error(result, "out of memory") }
        let connection = unsafe CopyConnection(handle, path, keyHandle)
        unsafe sqlite3_extended_result_codes(handle, 1)
        unsafe sqlite3_busy_timeout(handle, 10_000)
        unsafe sqlite3_progress_handler(
            handle, 1000, { _ in TerminationSignals.isWorkCancelled ? 1 : 0 }, nil)
        guard result == SQLITE_OK else { throw connection.failure(result) }
        return connection
    }

    func failure(_ result: Int32) -> CofferError {
        let message = unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) } ?? ""
        if result & 0xff == SQLITE_NOMEM, CachedPages.refusedLately {
            return SQLiteFailure.error(SQLITE_AUTH_USER_CODE, message)
        }
        if result & 0xff == SQLITE_CANTOPEN, let reason = UnopenedFile.error(at: path) { return reason }
        if result == SQLITE_NOTADB, keyHandle == nil {
            return CofferError(
                .foreign,
                "\(path) is not a plain database. The file is either encrypted or not a database at all.")
        }
        if result == SQLITE_NOTADB, keyHandle?.diagnosis == .plain {
            return CofferError(
                .refused, "\(path) is a plain database.", remedy: .convertPlainDatabase)
        }
        return SQLiteFailure.error(result, message, opening: keyHandle)
    }

    /// Runs a statement and returns SQLite's extended result code.
    func status(of statement: String) -> Int32 {
        let result = unsafe sqlite3_exec(handle, statement, nil, nil, nil)
        return result == SQLITE_OK ? result : unsafe sqlite3_extended_errcode(handle)
    }

    func run(_ statement: String) throws(CofferError) {
        let result = status(of: statement)
        guard result == SQLITE_OK else { throw failure(result) }
    }

    /// The encrypting VFS's object for the database file; `nil` for an unencrypted database.
    var mainFile: DatabaseFile? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard let methods = unsafe EncryptedVFS.registered?.methods,
            unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK
        else { return nil }
        return unsafe EncryptedMethods.object(file, methods) as? DatabaseFile
    }

    /// Returns the first column of the first row; `nil` if there is no row.
    func firstText(_ query: String) throws(CofferError) -> String? {
        var statement: OpaquePointer?
        defer { unsafe sqlite3_finalize(statement) }
        guard unsafe sqlite3_prepare_v2(handle, query, -1, &statement, nil) == SQLITE_OK else {
            throw failure(unsafe sqlite3_extended_errcode(handle))
        }
        let result = unsafe sqlite3_step(statement)
        guard result == SQLITE_ROW else {
            guard result == SQLITE_DONE else { throw failure(result) }
            return nil
        }
        return unsafe sqlite3_column_text(statement, 0).map { unsafe String(cString: $0) }
    }

    /// Sets the number of bytes to reserve at the end of each page, or only queries it if `count` is -1.
    /// Returns the previous number.
    func reserve(_ count: Int) throws(CofferError) -> Int {
        var number = Int32(count)
        let result = unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &number)
        guard result == SQLITE_OK else { throw failure(result) }
        return Int(number)
    }
}
