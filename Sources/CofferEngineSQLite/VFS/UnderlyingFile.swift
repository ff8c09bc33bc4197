import CSQLite

/// The underlying VFS's file. Its memory follows that of the encrypting VFS's file in the block that SQLite
/// allocated.
@safe struct UnderlyingFile {
    let file: UnsafeMutablePointer<sqlite3_file>

    init(_ file: UnsafeMutablePointer<sqlite3_file>) { unsafe self.file = file }

    private var methods: sqlite3_io_methods { unsafe file.pointee.pMethods.pointee }

    func read(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        unsafe methods.xRead(file, region.start, Int32(region.count), offset)
    }

    func write(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        unsafe methods.xWrite(file, region.start, Int32(region.count), offset)
    }

    func truncate(to size: Int64) -> Int32 { unsafe methods.xTruncate(file, size) }

    func sync(_ flags: Int32) -> Int32 { unsafe methods.xSync(file, flags) }

    /// The file's size in bytes; `nil` if it cannot be determined.
    var size: Int64? {
        var size: Int64 = 0
        guard unsafe methods.xFileSize(file, &size) == SQLITE_OK else { return nil }
        return size
    }

    func fileSize(_ size: UnsafeMutablePointer<Int64>?) -> Int32 { unsafe methods.xFileSize(file, size) }

    func lock(_ level: Int32) -> Int32 { unsafe methods.xLock(file, level) }

    func unlock(_ level: Int32) -> Int32 { unsafe methods.xUnlock(file, level) }

    func checkReservedLock(_ result: UnsafeMutablePointer<Int32>?) -> Int32 {
        unsafe methods.xCheckReservedLock(file, result)
    }

    func control(_ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 {
        unsafe methods.xFileControl(file, operation, argument)
    }

    func close() -> Int32 { unsafe methods.xClose(file) }

    /// The methods, if the underlying VFS supports shared memory; otherwise `nil`, because the bytes after an
    /// older VFS's last method must not be read.
    private var sharedMemory: sqlite3_io_methods? { methods.iVersion >= 2 ? methods : nil }

    func shmMap(
        _ region: Int32, _ size: Int32, _ extend: Int32,
        _ result: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> Int32 {
        guard let map = unsafe sharedMemory?.xShmMap else { return SQLITE_CANTOPEN }
        return unsafe map(file, region, size, extend, result)
    }

    func shmLock(_ offset: Int32, _ count: Int32, _ flags: Int32) -> Int32 {
        guard let lock = unsafe sharedMemory?.xShmLock else { return SQLITE_IOERR }
        return unsafe lock(file, offset, count, flags)
    }

    func shmBarrier() { unsafe sharedMemory?.xShmBarrier?(file) }

    func shmUnmap(_ delete: Int32) -> Int32 {
        guard let unmap = unsafe sharedMemory?.xShmUnmap else { return SQLITE_OK }
        return unsafe unmap(file, delete)
    }
}

/// Extended result codes. SQLite's header defines them as expressions that Swift does not import.
let SQLITE_IOERR_SHORT_READ_CODE = SQLITE_IOERR | 2 << 8
let SQLITE_IOERR_READ_CODE = SQLITE_IOERR | 1 << 8
let SQLITE_IOERR_FSTAT_CODE = SQLITE_IOERR | 7 << 8
let SQLITE_IOERR_DELETE_CODE = SQLITE_IOERR | 10 << 8
let SQLITE_IOERR_ACCESS_CODE = SQLITE_IOERR | 13 << 8
let SQLITE_IOERR_AUTH_CODE = SQLITE_IOERR | 28 << 8
/// The code for a transaction that a crash left and that only a connection with write access can roll back.
let SQLITE_READONLY_ROLLBACK_CODE = SQLITE_READONLY | 3 << 8
/// The code for an open file whose name now belongs to another file, or to none.
let SQLITE_READONLY_DBMOVED_CODE = SQLITE_READONLY | 4 << 8
/// The code for a WAL without an index, in a directory where SQLite cannot create one.
let SQLITE_READONLY_CANTINIT_CODE = SQLITE_READONLY | 5 << 8
let SQLITE_READONLY_DIRECTORY_CODE = SQLITE_READONLY | 6 << 8
/// The encrypting VFS's own code for a first page with another geometry, such as an unencrypted database's
/// first page in a backup.
let SQLITE_READONLY_GEOMETRY_CODE = SQLITE_READONLY | 0x43 << 8
/// The code for a connection whose key was revoked. SQLite's text for it is “authorization denied”.
let SQLITE_AUTH_USER_CODE = SQLITE_AUTH | 1 << 8
let SQLITE_IOERR_DATA_CODE = SQLITE_IOERR | 32 << 8
