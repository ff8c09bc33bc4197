import CSQLite

/// A namespace for functions that forward SQLite's calls on a `sqlite3_file` to the ``EncryptedFile`` behind
/// it.
///
/// SQLite allocates the file's memory, which holds, in this order, the methods, the object, and the
/// underlying VFS's file.
@safe enum EncryptedMethods {
    @safe private struct Header {
        var methods: UnsafePointer<sqlite3_io_methods>?
        var object: UnsafeMutableRawPointer?
    }

    static let headerSize = MemoryLayout<Header>.size

    /// Returns the underlying VFS's file, which is part of the memory of `file`.
    static func lower(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<sqlite3_file> {
        unsafe (UnsafeMutableRawPointer(file) + headerSize).assumingMemoryBound(to: sqlite3_file.self)
    }

    private static func header(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<Header> {
        unsafe UnsafeMutableRawPointer(file).assumingMemoryBound(to: Header.self)
    }

    /// Marks `file` as not open.
    static func clear(_ file: UnsafeMutablePointer<sqlite3_file>) {
        unsafe header(file).initialize(to: Header(methods: nil, object: nil))
        unsafe lower(file).pointee.pMethods = nil
    }

    /// Attaches `object` to `file`, which retains it until the file is closed.
    static func attach(
        _ object: EncryptedFile, to file: UnsafeMutablePointer<sqlite3_file>,
        _ methods: UnsafeMutablePointer<sqlite3_io_methods>
    ) {
        unsafe header(file).pointee = Header(
            methods: UnsafePointer(methods), object: Unmanaged.passRetained(object).toOpaque())
    }

    /// Returns the object that implements an open file of this VFS; `nil` for another VFS's file.
    static func object(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ methods: UnsafeMutablePointer<sqlite3_io_methods>
    ) -> EncryptedFile? {
        guard let file = unsafe file, unsafe file.pointee.pMethods == UnsafePointer(methods) else {
            return nil
        }
        return unsafe with(file) { $0 }
    }

    /// Passes the object that implements an open file to `body`. The file keeps its object alive, so no
    /// further retain is needed.
    @inline(__always)
    private static func with<Result>(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ body: (EncryptedFile) -> Result
    ) -> Result {
        // SQLite calls the methods of open files only, and every open file has its object.
        unsafe Unmanaged<EncryptedFile>.fromOpaque(
            header(file.unsafelyUnwrapped).pointee.object.unsafelyUnwrapped
        )._withUnsafeGuaranteedRef { body($0) }
    }

    /// Returns I/O methods of version 2, which support shared memory for the WAL but not memory mapping:
    /// a mapping would expose the ciphertext to SQLite.
    static func make() -> sqlite3_io_methods {
        var methods = sqlite3_io_methods()
        methods.iVersion = 2
        unsafe methods.xClose = { file in
            // SQLite also closes a database's file for which it could not create a page cache.
            CachedPages.expectNone()
            let result = unsafe EncryptedMethods.with(file) { $0.close() }
            unsafe Unmanaged<EncryptedFile>.fromOpaque(
                EncryptedMethods.header(file.unsafelyUnwrapped).pointee.object.unsafelyUnwrapped
            ).release()
            unsafe EncryptedMethods.clear(file.unsafelyUnwrapped)
            return result
        }
        unsafe methods.xRead = { file, buffer, count, offset in
            guard let buffer = unsafe buffer, count >= 0 else { return SQLITE_IOERR }
            let region = unsafe SharedMemoryRegion(buffer, count: Int(count))
            return unsafe EncryptedMethods.with(file) { $0.read(region, at: offset) }
        }
        unsafe methods.xWrite = { file, buffer, count, offset in
            guard let buffer = unsafe buffer, count >= 0 else { return SQLITE_IOERR }
            let region = unsafe SharedMemoryRegion(
                UnsafeMutableRawPointer(mutating: buffer), count: Int(count))
            return unsafe EncryptedMethods.with(file) { $0.write(region, at: offset) }
        }
        unsafe methods.xTruncate = { file, size in
            unsafe EncryptedMethods.with(file) { $0.truncate(to: size) }
        }
        unsafe methods.xSync = { file, flags in unsafe EncryptedMethods.with(file) { $0.sync(flags) } }
        unsafe methods.xFileSize = { file, size in
            unsafe EncryptedMethods.with(file) { unsafe $0.fileSize(size) }
        }
        addLocks(to: &methods)
        unsafe methods.xFileControl = { file, operation, argument in
            unsafe EncryptedMethods.with(file) { unsafe $0.control(operation, argument) }
        }
        // With small sectors, the header of a journal takes 512 bytes. With powersafe overwrite, SQLite does
        // not split the write of a frame at the end of a sector.
        unsafe methods.xSectorSize = { _ in 512 }
        unsafe methods.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
        return methods
    }

    private static func addLocks(to methods: inout sqlite3_io_methods) {
        unsafe methods.xLock = { file, level in unsafe EncryptedMethods.with(file) { $0.lock(level) } }
        unsafe methods.xUnlock = { file, level in
            unsafe EncryptedMethods.with(file) { $0.lower.unlock(level) }
        }
        unsafe methods.xCheckReservedLock = { file, result in
            unsafe EncryptedMethods.with(file) { unsafe $0.lower.checkReservedLock(result) }
        }
        unsafe methods.xShmMap = { file, region, size, extend, result in
            unsafe EncryptedMethods.with(file) { unsafe $0.shmMap(region, size, extend, result) }
        }
        unsafe methods.xShmLock = { file, offset, count, flags in
            unsafe EncryptedMethods.with(file) { $0.shmLock(offset, count, flags) }
        }
        unsafe methods.xShmBarrier = { file in unsafe EncryptedMethods.with(file) { $0.lower.shmBarrier() } }
        unsafe methods.xShmUnmap = { file, delete in
            unsafe EncryptedMethods.with(file) { $0.shmUnmap(delete) }
        }
    }
}
