import CSQLite

/// An open database file, journal or temporary file, for tests that read and write it in ways that no SQLite
/// release does.
@safe package final class FileAccessProbe {
    /// The kind of file to access.
    package enum File: Sendable { case main, journal, temporary }

    private let connection: OpaquePointer
    private let file: UnsafeMutablePointer<sqlite3_file>

    private init(_ connection: OpaquePointer, _ file: UnsafeMutablePointer<sqlite3_file>) {
        unsafe self.connection = connection
        unsafe self.file = file
    }

    deinit { unsafe sqlite3_close_v2(connection) }

    /// Opens the database, runs `sql`, which must leave the file open, and returns a probe for the file.
    package static func open(_ uri: String, _ kind: File, after sql: String) -> FileAccessProbe? {
        var connection: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI
        guard unsafe sqlite3_open_v2(uri, &connection, flags, nil) == SQLITE_OK,
            let connection = unsafe connection
        else { return nil }
        var file: UnsafeMutablePointer<sqlite3_file>?
        let operation = kind == .journal ? SQLITE_FCNTL_JOURNAL_POINTER : SQLITE_FCNTL_FILE_POINTER
        let name = kind == .temporary ? "temp" : "main"
        guard unsafe sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK,
            unsafe sqlite3_file_control(connection, name, operation, &file) == SQLITE_OK,
            let file = unsafe file, unsafe file.pointee.pMethods != nil
        else {
            unsafe sqlite3_close_v2(connection)
            return nil
        }
        return unsafe FileAccessProbe(connection, file)
    }

    private var methods: sqlite3_io_methods { unsafe file.pointee.pMethods.pointee }

    /// Reads from the file. Returns SQLite's result code and the bytes.
    package func read(_ count: Int, at offset: Int64) -> (code: Int32, bytes: [UInt8]) {
        var bytes = [UInt8](repeating: 0xee, count: count)
        let code = unsafe bytes.withUnsafeMutableBytes { bytes in
            unsafe methods.xRead(file, bytes.baseAddress, Int32(bytes.count), offset)
        }
        return (code, bytes)
    }

    /// Writes to the file. Returns SQLite's result code.
    package func write(_ bytes: [UInt8], at offset: Int64) -> Int32 {
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe methods.xWrite(file, bytes.baseAddress, Int32(bytes.count), offset)
        }
    }

    /// Truncates the file. Returns SQLite's result code.
    package func truncate(to size: Int64) -> Int32 { unsafe methods.xTruncate(file, size) }

    /// The device characteristics that the file reports.
    package var characteristics: Int32 { unsafe methods.xDeviceCharacteristics(file) }

    /// The sector size that the file reports.
    package var sectorSize: Int32 { unsafe methods.xSectorSize(file) }

    /// The version of the file's methods. Version 3 and later include memory mapping.
    package var version: Int32 { methods.iVersion }

    /// Makes the VFS delete a file. Returns SQLite's result code.
    package static func delete(_ path: String) -> Int32 {
        guard let vfs = unsafe EncryptedVFS.registered?.vfs else { return SQLITE_ERROR }
        return unsafe vfs.pointee.xDelete(vfs, path, 0)
    }

    /// Makes the VFS open a file as a super-journal, either to read it or to create it. Returns SQLite's
    /// result code.
    package static func openSuperJournal(_ path: String, isNew: Bool) -> Int32 {
        guard let vfs = unsafe EncryptedVFS.registered?.vfs else { return SQLITE_ERROR }
        let memory = Scratch(count: Int(unsafe vfs.pointee.szOsFile))
        let mode =
            isNew ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE : SQLITE_OPEN_READONLY
        return unsafe memory.region.start.withMemoryRebound(to: sqlite3_file.self, capacity: 1) { file in
            let result = unsafe vfs.pointee.xOpen(vfs, path, file, mode | SQLITE_OPEN_SUPER_JOURNAL, nil)
            if unsafe file.pointee.pMethods != nil { _ = unsafe file.pointee.pMethods.pointee.xClose(file) }
            return result
        }
    }
}
