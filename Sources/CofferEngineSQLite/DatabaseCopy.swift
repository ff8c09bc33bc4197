package import CofferBase
import CofferEngine
import CSQLite
package import SystemPackage

/// An operation that copies a database to change its format, key or page geometry.
///
/// SQLite's backup interface copies pages unchanged, so it cannot reserve the bytes that another format needs
/// at the end of each page. `VACUUM INTO` builds new pages.
package struct DatabaseCopy: ~Copyable {
    private let path: FilePath
    private let source: CopyConnection
    private let keyHandle: DatabaseKeyHandle?
    /// The copy to read instead of a source that cannot be recovered in place.
    private let recovery: RecoveryCopy?
    /// The number of bytes that the source reserves at the end of each page.
    package let reserve: Int

    /// Opens the database to copy from.
    ///
    /// - Parameters:
    ///   - path: The path of the database.
    ///   - keyHandle: The database's key; `nil` for an unencrypted database.
    ///   - folder: The directory in which to copy an encrypted database if a crash interrupted its last
    ///     transaction and the transaction cannot be rolled back in place. If it is `nil`, opening such a
    ///     database throws `readOnly`.
    /// - Returns: The open database.
    /// - Throws: `absent` if the database does not exist; `notAuthentic` if the key is wrong; also the other
    ///   errors of opening a database.
    package static func open(
        _ path: FilePath, _ keyHandle: DatabaseKeyHandle?, workingIn folder: FilePath? = nil
    ) throws(CofferError) -> DatabaseCopy {
        let flags = keyHandle?.format.isReadOnly == true ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        let source = try CopyConnection.open(path, flags, keyHandle)
        let result = source.status(of: probe)
        guard result == SQLITE_READONLY_ROLLBACK_CODE, let keyHandle, let folder, let main = source.mainFile
        else {
            guard result == SQLITE_OK else { throw source.failure(result) }
            return DatabaseCopy(
                path: path, source: source, keyHandle: keyHandle, recovery: nil,
                reserve: try source.reserve(-1))
        }
        let recovery = try RecoveryCopy.make(of: CopySource(main), in: folder)
        let copy = try CopyConnection.open(recovery.path, SQLITE_OPEN_READWRITE, keyHandle)
        try copy.run(probe)
        return DatabaseCopy(
            path: path, source: copy, keyHandle: keyHandle, recovery: recovery, reserve: try copy.reserve(-1))
    }

    private static let probe = "SELECT count(*) FROM sqlite_schema"

    /// Locks out all other connections until this value is destroyed.
    ///
    /// - Throws: `busy` if another connection is reading or writing the database or has it open in WAL mode;
    ///   `conflict` if another process replaced the file after it was opened here.
    package func acquireExclusiveLock() throws(CofferError) {
        try source.run("PRAGMA locking_mode = EXCLUSIVE")
        try source.run("PRAGMA journal_mode = DELETE")
        try source.run("BEGIN EXCLUSIVE")
        try source.run("COMMIT")
        try requireUnmoved()
    }

    /// Throws `conflict` if the database's name no longer refers to the file that is open here.
    package func requireUnmoved() throws(CofferError) {
        guard source.mainFile?.hasMoved != true else {
            throw SQLiteFailure.error(SQLITE_READONLY_DBMOVED_CODE, "")
        }
    }

    /// Copies the whole database into a new file, checks the copy and flushes it to the disk. If `target` is
    /// `nil`, the copy is unencrypted.
    ///
    /// The file is in a private directory until it is complete. If the process is killed, the unfinished file
    /// cannot be mistaken for a database and does not occupy the name of the new file.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the new file.
    ///   - target: The new file's key; `nil` for an unencrypted copy.
    ///   - check: A function that throws if the complete copy must not get its name.
    /// - Throws: `absent` if the source is empty or the directory does not exist; `alreadyExists` if the
    ///   file, or a journal or WAL beside it, exists; `invalidInput` if SQLite does not accept the path;
    ///   `noSpace`; `cancelled` if a signal interrupts the operation; the error of `check`.
    package func write(
        to path: FilePath, _ target: DatabaseKeyHandle?, check: () throws(CofferError) -> Void = {}
    ) throws(CofferError) {
        let folder = try Self.openFolder(path.removingLastComponent())
        guard let name = path.lastComponent.map({ FilePath(root: nil, [$0]) }) else {
            throw CofferError(.invalidInput, "The path \(path) does not contain a file name.")
        }
        guard try source.firstText("PRAGMA page_count") != "0" else { throw UnopenedFile.empty(self.path) }
        guard try folder.status(of: name) == nil else { throw Self.exists(path) }
        if let refusal = FileBeside.refusalOfCopy(path) { throw refusal }
        let workFolder = try WorkFolder.make(.unfinished, in: folder)
        let file = workFolder.inner.path.pushing(Self.unfinished)
        guard FileNameBytes.of(file).count <= UnopenedFile.maxPathLength else {
            throw CofferError(
                .invalidInput,
                "The database cannot be copied in \(workFolder.inner.path), because SQLite accepts paths "
                    + "of at most \(UnopenedFile.maxPathLength) bytes. Choose a shorter path.")
        }
        // Create the file so that only its owner can access it. SQLite would create an unencrypted file with
        // the mode that the umask allows.
        _ = try workFolder.inner.open(Self.unfinished, [.readWrite, .exclusive])
        try vacuum(to: file, target)
        try workFolder.inner.open(Self.unfinished, [.readWrite]).sync()
        try check()
        do throws(CofferError) {
            try workFolder.folder.moveWithoutReplacing(workFolder.name.pushing(Self.unfinished), to: name)
        } catch {
            throw error.code == .alreadyExists ? Self.exists(path) : error
        }
        try workFolder.folder.sync()
    }

    private static let unfinished: FilePath = "database"

    private static func exists(_ path: FilePath) -> CofferError {
        CofferError(.alreadyExists, "\(path) already exists.")
    }

    private static func openFolder(_ folder: FilePath) throws(CofferError) -> Descriptor {
        do throws(CofferError) {
            return try Descriptor.open(folder, [.read, .directory])
        } catch {
            guard error.code == .absent else { throw error }
            throw CofferError(
                .absent, "The directory \(folder) does not exist. Create it first.",
                systemError: error.systemError)
        }
    }

    private func vacuum(to path: FilePath, _ target: DatabaseKeyHandle?) throws(CofferError) {
        if let target {
            // This statement alone may change the geometry of an empty database.
            target.entry.isUnpinned = true
            keyHandle?.entry.isUnpinned = true
            // The order matters: setting the page size resets the reserve that was requested.
            try source.run("PRAGMA page_size = \(target.entry.pageSize)")
            _ = try source.reserve(max(reserve, target.entry.format.reserve))
        }
        defer {
            target?.entry.isUnpinned = false
            keyHandle?.entry.isUnpinned = false
        }
        try source.run("VACUUM main INTO '\(CopyConnection.uri(for: path, target))'")
        let copy = try CopyConnection.open(path, SQLITE_OPEN_READWRITE, target)
        guard try copy.firstText("PRAGMA quick_check(1)") == "ok" else {
            throw CofferError(.internalFailure, "The copy of the database failed SQLite's check. Try again.")
        }
    }
}
