public import CofferBase
import CofferEngine
import CofferEngineSQLite
public import GRDB
public import SystemPackage

/// Databases that are encrypted page by page, through GRDB and the system's SQLite.
///
/// ```swift
/// let pool = try EncryptedDatabase.pool(at: "/home/me/.local/share/app/notes.db", key: key)
/// try await pool.write { db in try db.create(table: "note") { $0.primaryKey("id", .text) } }
/// ```
///
/// What comes back is GRDB's own queue or pool, and everything of GRDB works on it: migrations, full-text
/// search, observation, `vacuum(into:)`, whose copy has the same key, backup; <doc:CopiesOfADatabase> has the
/// details. The database, its journal or WAL and the nameless files that SQLite sorts in
/// are encrypted; the shared memory beside a WAL holds page numbers only. Every page is authenticated for its
/// place in its database. Not detected: an old version of a page, or of the whole file, put back in the place
/// of a newer one.
///
/// Statements that would lead out of the encryption are denied: attaching a database that is not encrypted,
/// and extensions. `PRAGMA auto_vacuum` works on a new database, in `prepareDatabase` or before the first
/// table; `PRAGMA page_size` and `PRAGMA mmap_size` change nothing. <doc:WhatDiffersFromGRDB> has the rest.
///
/// GRDB's `path` of the queue or pool is SQLite's URI, with a token that stands for the key in this process:
/// ask ``path(of:)`` for the file.
public enum EncryptedDatabase {
    /// Opens a database, or makes it, for one connection.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - key: Its key.
    ///   - configuration: GRDB's configuration; what it prepares runs before the connection is guarded.
    /// - Returns: GRDB's queue.
    /// - Throws: ``CofferBase/CofferError``: `notAuthentic` for a wrong key; `refused` for a plain database;
    ///   `foreign` for another format; `corrupt` when the first page is damaged, or a WAL or a journal beside
    ///   it does not fit; `readOnly` when a crash interrupted its last transaction and it is to be read only;
    ///   `absent`, when it is to be read only and is not there; `unsupported` for SQLCipher's plaintext
    ///   header; `invalidInput` for an empty path and `:memory:`; what the system refuses. An error of the
    ///   program's own, thrown in what the configuration prepares, comes back as it is.
    public static func queue(
        at path: FilePath, key: borrowing DatabaseKey, configuration: Configuration = Configuration()
    ) throws -> DatabaseQueue {
        try queue(at: path, lease: key.lease(), configuration: configuration)
    }

    /// Opens a database, or makes it, in WAL mode, for one writer and several readers.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - key: Its key.
    ///   - configuration: GRDB's configuration; what it prepares runs before the connection is guarded.
    /// - Returns: GRDB's pool.
    /// - Throws: As ``queue(at:key:configuration:)``.
    public static func pool(
        at path: FilePath, key: borrowing DatabaseKey, configuration: Configuration = Configuration()
    ) throws -> DatabasePool {
        try pool(at: path, lease: key.lease(), configuration: configuration)
    }

    static func queue(
        at path: FilePath, lease: DatabaseKeyHandle, configuration: Configuration
    ) throws -> DatabaseQueue {
        try opening(path, lease) {
            try DatabaseQueue(path: $0, configuration: guarded(configuration, lease))
        }
    }

    static func pool(
        at path: FilePath, lease: DatabaseKeyHandle, configuration: Configuration
    ) throws -> DatabasePool {
        try opening(path, lease) {
            try DatabasePool(path: $0, configuration: guarded(configuration, lease))
        }
    }

    private static func opening<Result>(
        _ path: FilePath, _ lease: DatabaseKeyHandle, _ body: (String) throws -> Result
    ) throws -> Result {
        let absolute = try absolutePath(path)
        do {
            return try body(lease.uri(for: absolute))
        } catch let error as DatabaseError {
            throw failure(error, opening: lease, at: absolute)
        }
    }

    /// The file of an encrypted database.
    ///
    /// GRDB's own `path` is the URI by which SQLite opens the file through the VFS that encrypts.
    ///
    /// - Parameter reader: A queue, a pool or a snapshot.
    /// - Returns: The path from the root; for a database that is not encrypted, what GRDB says.
    public static func path(of reader: any DatabaseReader) -> FilePath {
        let text = reader.path
        guard case .uri(let uri) = DatabaseURI.read(Array(text.utf8)) else { return FilePath(text) }
        return FileNameBytes.path(uri.path) ?? FilePath(text)
    }

    /// Makes sure that there is a database to open, where opening would make one.
    ///
    /// - Parameter path: The database.
    /// - Throws: `absent`, also for an empty file; what the system refuses.
    package static func requireDatabase(at path: FilePath) throws(CofferError) {
        try UnopenedFile.requireDatabase(at: absolutePath(path))
    }

    /// The path from the root: SQLite's URIs take no other.
    static func absolutePath(_ path: FilePath) throws(CofferError) -> FilePath {
        guard !path.isEmpty else { throw CofferError(.invalidInput, "The database's path is empty.") }
        guard path != ":memory:" else {
            throw CofferError(
                .invalidInput, "A database in memory is not encrypted: open GRDB's own DatabaseQueue().")
        }
        guard !path.isAbsolute else { return path }
        guard let folder = Environment.workingDirectory else {
            throw CofferError(.inputOutput, "The working directory cannot be told: give an absolute path.")
        }
        return folder.pushing(path)
    }

    /// What every connection goes through before it is used: proof that it is encrypted, pages that are
    /// overwritten when they are freed, the guard. It keeps the key's lease alive.
    private static func guarded(_ configuration: Configuration, _ lease: DatabaseKeyHandle) -> Configuration {
        var configuration = configuration
        if lease.format.isReadOnly { configuration.readonly = true }
        configuration.prepareDatabase { db in
            let format = try String.fetchOne(db, sql: "PRAGMA \(DatabaseKeyHandle.proofPragma)")
            if format == nil, TemporaryDatabases.moveIntoMemory(db) { return }
            guard format == lease.format.rawValue else {
                if format == nil {
                    throw CofferError(.internalFailure, "SQLite did not open the database encrypted.")
                }
                throw SQLiteFailure.notEncrypted(lease)
            }
            try db.execute(sql: "PRAGMA secure_delete = ON")
            try db.execute(sql: "PRAGMA \(DatabaseKeyHandle.guardPragma)")
        }
        return configuration
    }

    /// Ends a database whose queue or pool others may go on holding, after what runs on it: all that they do
    /// with it afterwards fails with `locked`.
    ///
    /// Closing it would be GRDB's way, but a closed queue or pool ends the process when it is used. What
    /// remains is a connection without key, without codec, without pages and without temporary tables, until
    /// they let go of it.
    static func invalidate(_ writer: any DatabaseWriter, _ lease: DatabaseKeyHandle) {
        let forget = "PRAGMA \(DatabaseKeyHandle.forgetPragma)"
        try? writer.barrierWriteWithoutTransaction { db in
            do {
                // Throws where the program closed it itself: a checkpoint there would end the process too.
                try db.execute(sql: forget)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
                // A transaction, or a cursor, that the program left open.
            }
            if db.isInsideTransaction { try? db.rollback() }
            if !lease.isRevoked { _ = try? db.checkpoint(.truncate) }
            lease.revoke()
            RevokedConnection.empty(db)
            try db.execute(sql: forget)
            db.releaseMemory()
        }
        lease.revoke()
        (writer as? DatabasePool)?.invalidateReadOnlyConnections()
    }

    /// A typed error for what a GRDB call threw: `corrupt` for a damaged page, `noSpace`, `busy` and so on.
    ///
    /// - Parameter error: What was thrown.
    /// - Returns: The error, the same when it was one of this package.
    public static func failure(_ error: any Error) -> CofferError { failure(error, opening: nil, at: nil) }

    static func failure(_ error: any Error, opening lease: DatabaseKeyHandle?, at path: FilePath?)
        -> CofferError
    {
        if let error = error as? CofferError { return error }
        guard let error = error as? DatabaseError else {
            return CofferError(.inputOutput, "The database cannot be used: \(error).")
        }
        if error.resultCode == .SQLITE_CANTOPEN, let path, let reason = UnopenedFile.error(at: path) {
            return reason
        }
        let isRefusal = RevokedConnection.isRefusal(error)
        return SQLiteFailure.error(
            isRefusal ? DatabaseError.SQLITE_AUTH_USER.rawValue : error.extendedResultCode.rawValue,
            error.message ?? "no message", opening: lease)
    }
}
