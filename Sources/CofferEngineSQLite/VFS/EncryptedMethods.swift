import CSQLite

/// Forwards SQLite's calls on a `sqlite3_file` to the ``EncryptedFile`` behind it.
///
/// SQLite allocates the file's memory, in this order: the methods, the object, the lower file's own memory.
@safe enum EncryptedMethods {
    @safe private struct Head {
        var methods: UnsafePointer<sqlite3_io_methods>?
        var object: UnsafeMutableRawPointer?
    }

    static let headSize = MemoryLayout<Head>.size

    /// Returns the lower file in `file`'s memory.
    static func lower(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<sqlite3_file> {
        unsafe (UnsafeMutableRawPointer(file) + headSize).assumingMemoryBound(to: sqlite3_file.self)
    }

    private static func head(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<Head> {
        unsafe UnsafeMutableRawPointer(file).assumingMemoryBound(to: Head.self)
    }

    /// Marks `file` as not open.
    static func clear(_ file: UnsafeMutablePointer<sqlite3_file>) {
        unsafe head(file).initialize(to: Head(methods: nil, object: nil))
        unsafe lower(file).pointee.pMethods = nil
    }

    /// Attaches `object` to `file`, which owns it until it is closed.
    static func attach(
        _ object: EncryptedFile, to file: UnsafeMutablePointer<sqlite3_file>,
        _ methods: UnsafeMutablePointer<sqlite3_io_methods>
    ) {
        unsafe head(file).pointee = Head(
            methods: UnsafePointer(methods), object: Unmanaged.passRetained(object).toOpaque())
    }

    /// Returns the object of an open file of this VFS; `nil` for a file of another VFS.
    static func object(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ methods: UnsafeMutablePointer<sqlite3_io_methods>
    ) -> EncryptedFile? {
        guard let file = unsafe file, unsafe file.pointee.pMethods == UnsafePointer(methods) else {
            return nil
        }
        return unsafe with(file) { $0 }
    }

    /// Passes the object to `body`. An open file keeps its object alive, so no further retain is needed.
    @inline(__always)
    private static func with<Result>(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ body: (EncryptedFile) -> Result
    ) -> Result {
        // SQLite calls methods of open files only, and every open file has its object.
        unsafe Unmanaged<EncryptedFile>.fromOpaque(
            head(file.unsafelyUnwrapped).pointee.object.unsafelyUnwrapped
        )._withUnsafeGuaranteedRef { body($0) }
    }

    /// Returns the methods. Version 2: with the WAL's shared memory, but without memory mapping, which would
    /// show SQLite the ciphertext.
    static func make() -> sqlite3_io_methods {
        var methods = sqlite3_io_methods()
        methods.iVersion = 2
        unsafe methods.xClose = { file in
            // SQLite also closes a database's file for which it could not create a page cache.
            CachedPages.expectNone()
            let result = unsafe EncryptedMethods.with(file) { $0.close() }
            unsafe Unmanaged<EncryptedFile>.fromOpaque(
                EncryptedMethods.head(file.unsafelyUnwrapped).pointee.object.unsafelyUnwrapped
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
        // Small sectors keep the journal's header at 512 bytes; powersafe overwrite keeps frames whole.
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
