import CofferBase
import CSQLite
import Glibc

/// The VFS `coffer`, which encrypts the data that SQLite writes and passes it to the VFS `unix`.
@safe enum EncryptedVFS {
    static let name = "coffer"
    /// The pragma that returns the format if the connection's database is encrypted. No other VFS answers it.
    static let proofPragma = "coffer_codec"
    /// The pragma that makes the connection follow the rules of ``ConnectionGuard``.
    static let guardPragma = "coffer_guard"
    /// The pragma that makes a connection whose key was revoked discard everything derived from the key.
    static let forgetPragma = "coffer_forget"

    /// The registered VFS's memory, which is never freed.
    ///
    /// `@unchecked Sendable` is safe because only SQLite changes this memory after registration, under its
    /// own mutex.
    @safe struct Registered: @unchecked Sendable {
        let vfs: UnsafeMutablePointer<sqlite3_vfs>
        let base: UnsafeMutablePointer<sqlite3_vfs>
        let methods: UnsafeMutablePointer<sqlite3_io_methods>
    }

    static let registered: Registered? = make()

    /// Registers the VFS with SQLite, once.
    static func register() throws(CofferError) {
        guard sqlite3_libversion_number() >= 3_039_000 else {
            throw CofferError(.unsupported, "Encrypted databases require SQLite 3.39 or later.")
        }
        guard registered != nil else {
            throw CofferError(.unsupported, "SQLite did not register the VFS for encrypted databases.")
        }
        guard
            unsafe sqlite3_compileoption_used("USE_URI=1") == 1 || sqlite3_compileoption_used("USE_URI") == 1
        else {
            throw CofferError(
                .unsupported,
                "This build of SQLite does not open databases by URI. Use a build with SQLITE_USE_URI=1.")
        }
    }

    private static func make() -> Registered? {
        guard sqlite3_initialize() == SQLITE_OK, let base = unsafe sqlite3_vfs_find("unix") else {
            return nil
        }
        let encryptedVFS = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        unsafe methods.initialize(to: EncryptedMethods.make())
        unsafe encryptedVFS.initialize(to: sqlite3_vfs())
        unsafe fill(encryptedVFS, over: base)
        guard unsafe sqlite3_vfs_register(encryptedVFS, 0) == SQLITE_OK else { return nil }
        return unsafe Registered(vfs: encryptedVFS, base: base, methods: methods)
    }

    private static func fill(
        _ encryptedVFS: UnsafeMutablePointer<sqlite3_vfs>, over base: UnsafeMutablePointer<sqlite3_vfs>
    ) {
        // Version 2 has no calls that replace system calls.
        unsafe encryptedVFS.pointee.iVersion = 2
        unsafe encryptedVFS.pointee.szOsFile = Int32(EncryptedMethods.headerSize) + base.pointee.szOsFile
        unsafe encryptedVFS.pointee.mxPathname = base.pointee.mxPathname
        unsafe encryptedVFS.pointee.zName = UnsafePointer(strdup(name))
        unsafe encryptedVFS.pointee.pAppData = UnsafeMutableRawPointer(base)
        unsafe encryptedVFS.pointee.xOpen = { vfs, name, file, flags, outFlags in
            unsafe EncryptedOpening.open(vfs, name, file, flags, outFlags)
        }
        unsafe encryptedVFS.pointee.xDelete = { vfs, name, sync in
            guard let name = unsafe name, unsafe SuperJournal.mayDelete(name) else {
                return SQLITE_IOERR_DELETE_CODE
            }
            let base = unsafe EncryptedVFS.base(vfs)
            return unsafe base.pointee.xDelete(base, name, sync)
        }
        unsafe encryptedVFS.pointee.xAccess = { vfs, name, flags, result in
            let base = unsafe EncryptedVFS.base(vfs)
            return unsafe base.pointee.xAccess(base, name, flags, result)
        }
        unsafe encryptedVFS.pointee.xFullPathname = { vfs, name, size, output in
            let base = unsafe EncryptedVFS.base(vfs)
            return unsafe base.pointee.xFullPathname(base, name, size, output)
        }
        unsafe encryptedVFS.pointee.xRandomness = { vfs, size, output in
            let base = unsafe EncryptedVFS.base(vfs)
            return unsafe base.pointee.xRandomness(base, size, output)
        }
        unsafe encryptedVFS.pointee.xSleep = { vfs, microseconds in
            let base = unsafe EncryptedVFS.base(vfs)
            return unsafe base.pointee.xSleep(base, microseconds)
        }
        unsafe encryptedVFS.pointee.xCurrentTime = { vfs, result in
            let base = unsafe EncryptedVFS.base(vfs)
            return unsafe base.pointee.xCurrentTime(base, result)
        }
        unsafe encryptedVFS.pointee.xCurrentTimeInt64 = { vfs, result in
            let base = unsafe EncryptedVFS.base(vfs)
            return unsafe base.pointee.xCurrentTimeInt64(base, result)
        }
        unsafe encryptedVFS.pointee.xGetLastError = { vfs, size, output in
            let base = unsafe EncryptedVFS.base(vfs)
            return unsafe base.pointee.xGetLastError(base, size, output)
        }
        // Finding no library in `xDlOpen` keeps extensions from being loaded through this VFS.
        unsafe encryptedVFS.pointee.xDlOpen = { _, _ in nil }
        unsafe encryptedVFS.pointee.xDlError = { _, _, _ in }
        unsafe encryptedVFS.pointee.xDlSym = { _, _, _ in nil }
        unsafe encryptedVFS.pointee.xDlClose = { _, _ in }
    }

    /// The longest path that SQLite accepts, in bytes.
    static var maxPathLength: Int64 { registered.map { Int64(unsafe $0.base.pointee.mxPathname) } ?? 0 }

    /// Returns the full path that SQLite uses for a database with this name; `nil` if SQLite rejects the
    /// name.
    static func fullPath(_ path: [UInt8]) -> [UInt8]? {
        guard let base = unsafe registered?.base else { return nil }
        let output = Scratch(count: Int(unsafe base.pointee.mxPathname) + 1)
        let text = (path + [0]).map { CChar(bitPattern: $0) }
        let result = unsafe output.region.start.withMemoryRebound(
            to: CChar.self, capacity: output.region.count
        ) { start in
            unsafe base.pointee.xFullPathname(base, text, Int32(output.region.count), start)
        }
        // SQLite reports a path through a symbolic link with an extended code of `SQLITE_OK`.
        guard result & 0xff == SQLITE_OK else { return nil }
        return output.region.bytes.prefix { $0 != 0 }.map { $0 }
    }

    static func base(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> UnsafeMutablePointer<sqlite3_vfs> {
        // `fill(_:over:)` sets `pAppData`, and SQLite passes the VFS itself to each of its calls.
        unsafe vfs.unsafelyUnwrapped.pointee.pAppData.assumingMemoryBound(to: sqlite3_vfs.self)
    }
}
