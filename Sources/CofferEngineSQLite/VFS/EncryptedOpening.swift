import CSQLite
import Glibc

/// A namespace for functions that open files according to the kind that SQLite declares, and refuse unknown
/// kinds.
@safe enum EncryptedOpening {
    static func open(
        _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?,
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let file = unsafe file, let registered = EncryptedVFS.registered else { return SQLITE_CANTOPEN }
        unsafe EncryptedMethods.clear(file)
        var main: (entry: KeyEntry, opening: FileOpening)?
        if let name = unsafe name, flags & SQLITE_OPEN_MAIN_DB != 0 {
            // Check before the VFS below creates the file: an unknown token must not leave an empty file, let
            // alone an unencrypted one.
            let opening = unsafe FileOpening(name, flags)
            let target = opening.vacuumTarget
            let entry = if let token = opening.token { DatabaseKeyHandle.entry(token) } else { target?.entry }
            guard let entry else { return SQLITE_CANTOPEN }
            guard !entry.isRevoked else { return SQLITE_AUTH_USER_CODE }
            guard entry.cachedPages.isUsable else { return SQLITE_NOMEM }
            if case .noFile = unsafe SuperJournal.fileKind(at: name) { return SQLITE_CANTOPEN }
            main = (entry, opening)
        } else if let name = unsafe name, unsafe !isSound(name, flags) {
            return SQLITE_IOERR
        }
        if let name = unsafe name, flags & SQLITE_OPEN_WAL != 0,
            unsafe self.main(of: name, registered)?.hasMoved == true
        {
            // By its name, the WAL belongs to the file that now has the database's name.
            return SQLITE_READONLY_DBMOVED_CODE
        }
        let lower = unsafe EncryptedMethods.lower(file)
        let base = unsafe EncryptedVFS.base(vfs)
        var fresh: UnsafePointer<CChar>?
        if let name = unsafe name, main != nil, flags & SQLITE_OPEN_CREATE != 0 {
            unsafe fresh = unsafe access(name, F_OK) == 0 ? nil : name
            // SQLite also turns an empty file into a database.
            if case .vacant = unsafe SuperJournal.fileKind(at: name),
                unsafe !FileBeside.allows(CText.bytes(name))
            {
                return SQLITE_CANTOPEN
            }
        }
        let result = unsafe base.pointee.xOpen(base, name, lower, flags, outFlags)
        // Restrict access to the owner while the file is still empty; SQLite creates the files beside it with
        // the same mode. Change the mode by name, because closing a descriptor of the file would drop
        // SQLite's locks.
        var isPrivate = true
        if result == SQLITE_OK, let fresh = unsafe fresh { isPrivate = unsafe chmod(fresh, 0o600) == 0 }
        guard result == SQLITE_OK, isPrivate else {
            if unsafe lower.pointee.pMethods != nil { _ = unsafe UnderlyingFile(lower).close() }
            return result == SQLITE_OK ? SQLITE_CANTOPEN : result
        }
        guard let object = unsafe object(UnderlyingFile(lower), name, flags, main, registered) else {
            _ = unsafe UnderlyingFile(lower).close()
            return SQLITE_CANTOPEN
        }
        unsafe EncryptedMethods.attach(object, to: file, registered.methods)
        main?.entry.cachedPages.expectNext()
        return SQLITE_OK
    }

    /// Reports whether a file beside a database may be opened. Another program may have created a file that a
    /// journal names, and opening a pipe would block SQLite forever while it holds a lock.
    private static func isSound(_ name: UnsafePointer<CChar>, _ flags: Int32) -> Bool {
        let isSuper = flags & SQLITE_OPEN_SUPER_JOURNAL != 0
        guard unsafe !isSuper || SuperJournal.mayOpen(name, flags) else { return false }
        if case .noFile = unsafe SuperJournal.fileKind(at: name) { return false }
        return true
    }

    private static func object(
        _ lower: UnderlyingFile, _ name: UnsafePointer<CChar>?, _ flags: Int32,
        _ main: (entry: KeyEntry, opening: FileOpening)?, _ registered: EncryptedVFS.Registered
    ) -> EncryptedFile? {
        guard let name = unsafe name else { return TemporaryFile(encrypting: lower) }
        if let main { return DatabaseFile(lower: lower, entry: main.entry, opening: main.opening) }
        if flags & SQLITE_OPEN_SUPER_JOURNAL != 0 { return PlainFile(lower: lower) }
        let isJournal = flags & SQLITE_OPEN_MAIN_JOURNAL != 0
        guard isJournal || flags & SQLITE_OPEN_WAL != 0 else { return nil }
        // SQLite does not always report the database of a journal that it only inspects.
        if isJournal, flags & SQLITE_OPEN_READONLY != 0 { return JournalState(lower: lower) }
        guard let main = unsafe self.main(of: name, registered) else { return nil }
        return isJournal ? JournalFile(lower: lower, main: main) : WALFile(lower: lower, main: main)
    }

    /// Returns the database to which SQLite opens the journal or WAL `name`.
    private static func main(
        of name: UnsafePointer<CChar>, _ registered: EncryptedVFS.Registered
    ) -> DatabaseFile? {
        unsafe EncryptedMethods.object(sqlite3_database_file_object(name), registered.methods)
            as? DatabaseFile
    }
}
