public import CofferBase
import CofferEngine
import CofferEngineSQLite
public import GRDB
public import SystemPackage

/// A namespace for functions that open databases encrypted page by page, using GRDB and the system's SQLite.
///
/// ```swift
/// let pool = try EncryptedDatabase.pool(at: "/home/me/.local/share/app/notes.db", key: key)
/// try await pool.write { db in try db.create(table: "note") { $0.primaryKey("id", .text) } }
/// ```
///
/// An open database is an ordinary GRDB queue or pool, and all GRDB features work on it: migrations,
/// full-text search, observation, backup, and `vacuum(into:)`, whose copy has the same key.
/// <doc:CopiesOfADatabase> describes the ways to copy a database.
///
/// The database, its journal or WAL, and the unnamed files that SQLite uses for sorting are encrypted; the
/// shared memory beside a WAL holds only page numbers. Every page is authenticated for its place in its
/// database, but replacing a page, or the whole file, with an older version is not detected.
///
/// Statements that would bypass the encryption are denied: you cannot attach an unencrypted database or load
/// an extension. `PRAGMA auto_vacuum` works only on a new database: execute it in `prepareDatabase` or before
/// you create the first table. `PRAGMA page_size` and `PRAGMA mmap_size` have no effect.
/// <doc:WhatDiffersFromGRDB> describes the other differences from GRDB.
///
/// The queue's or pool's `path` is an SQLite URI with a token that stands for the key in this process. Use
/// ``path(of:)`` to get the file's path.
public enum EncryptedDatabase {
    /// Opens a database for one connection, creating it if necessary.
    ///
    /// - Parameters:
    ///   - path: The path of the database's file.
    ///   - key: The database's key.
    ///   - configuration: The GRDB configuration, whose `prepareDatabase` blocks run before statements are
    ///     restricted.
    /// - Returns: A GRDB queue.
    /// - Throws: A `CofferError`: `notAuthentic` if the key is wrong; `refused` if the database is not
    ///   encrypted; `foreign` if the database has another format; `corrupt` if the first page is damaged, or
    ///   if a WAL or a journal beside the database does not match the database; `readOnly` if a crash
    ///   interrupted the last transaction of a database that is opened read-only; `absent` if a database that
    ///   is opened read-only does not exist; `unsupported` if the database has a SQLCipher plaintext header
    ///   that the key does not specify; `invalidInput` if the path is empty or `:memory:`; or a system error.
    ///   An error that your own code throws while it prepares a connection is rethrown unchanged.
    public static func queue(
        at path: FilePath, key: borrowing DatabaseKey, configuration: Configuration = Configuration()
    ) throws -> DatabaseQueue {
        try queue(at: path, handle: key.handle(), configuration: configuration)
    }

    /// Opens a database in WAL mode, for one writer and several readers, creating it if necessary.
    ///
    /// - Parameters:
    ///   - path: The path of the database's file.
    ///   - key: The database's key.
    ///   - configuration: The GRDB configuration, whose `prepareDatabase` blocks run before statements are
    ///     restricted.
    /// - Returns: A GRDB pool.
    /// - Throws: The errors of ``queue(at:key:configuration:)-(FilePath,_,_)``.
    public static func pool(
        at path: FilePath, key: borrowing DatabaseKey, configuration: Configuration = Configuration()
    ) throws -> DatabasePool {
        try pool(at: path, handle: key.handle(), configuration: configuration)
    }

    static func queue(
        at path: FilePath, handle: DatabaseKeyHandle, configuration: Configuration
    ) throws -> DatabaseQueue {
        try opening(path, handle) {
            try DatabaseQueue(path: $0, configuration: guarded(configuration, handle))
        }
    }

    static func pool(
        at path: FilePath, handle: DatabaseKeyHandle, configuration: Configuration
    ) throws -> DatabasePool {
        try opening(path, handle) {
            try DatabasePool(path: $0, configuration: guarded(configuration, handle))
        }
    }

    private static func opening<Result>(
        _ path: FilePath, _ handle: DatabaseKeyHandle, _ body: (String) throws -> Result
    ) throws -> Result {
        let absolute = try absolutePath(path)
        do {
            return try body(handle.uri(for: absolute))
        } catch let error as DatabaseError {
            throw failure(error, opening: handle, at: absolute)
        }
    }

    /// Returns the path of an encrypted database's file.
    ///
    /// GRDB's own `path` property is the URI with which SQLite opens the file through the encrypting VFS.
    ///
    /// - Parameter reader: A queue, a pool or a snapshot.
    /// - Returns: The absolute path of the file; for a database that is not encrypted, GRDB's `path`.
    public static func path(of reader: any DatabaseReader) -> FilePath {
        let text = reader.path
        guard case .uri(let uri) = DatabaseURI.read(Array(text.utf8)) else { return FilePath(text) }
        return FileNameBytes.path(uri.path) ?? FilePath(text)
    }

    /// Checks that a database exists at `path`, for callers that must not create one.
    ///
    /// - Parameter path: The path of the database's file.
    /// - Throws: `absent` if the file does not exist, or is empty without a nonempty journal or WAL beside
    ///   it; or a system error.
    package static func requireDatabase(at path: FilePath) throws(CofferError) {
        try UnopenedFile.requireDatabase(at: absolutePath(path))
    }

    /// Returns the absolute form of a path, the only form that SQLite's URIs accept.
    static func absolutePath(_ path: FilePath) throws(CofferError) -> FilePath {
        guard !path.isEmpty else { throw CofferError(.invalidInput, "The database's path is empty.") }
        guard path != ":memory:" else {
            throw CofferError(
                .invalidInput, "An in-memory database cannot be encrypted. Use GRDB's own DatabaseQueue().")
        }
        guard !path.isAbsolute else { return path }
        guard let folder = Environment.workingDirectory else {
            throw CofferError(
                .inputOutput, "The working directory could not be determined. Specify an absolute path.")
        }
        return folder.pushing(path)
    }

    /// Returns a configuration that prepares every connection before use. The preparation checks that the
    /// connection is encrypted, makes SQLite overwrite freed pages and installs the guard. The configuration
    /// keeps the key's handle alive.
    private static func guarded(
        _ configuration: Configuration, _ handle: DatabaseKeyHandle
    ) -> Configuration {
        var configuration = configuration
        if handle.format.isReadOnly { configuration.readonly = true }
        configuration.prepareDatabase { db in
            let format = try String.fetchOne(db, sql: "PRAGMA \(DatabaseKeyHandle.proofPragma)")
            if format == nil, TemporaryDatabases.moveIntoMemory(db) { return }
            guard format == handle.format.rawValue else {
                if format == nil {
                    throw CofferError(.internalFailure, "SQLite opened the database without encrypting it.")
                }
                throw SQLiteFailure.notEncrypted(handle)
            }
            try db.execute(sql: "PRAGMA secure_delete = ON")
            try db.execute(sql: "PRAGMA \(DatabaseKeyHandle.guardPragma)")
        }
        return configuration
    }

    /// Invalidates a database whose queue or pool the program may still hold, once its running statements
    /// have ended. Every later use of the queue or pool fails with `locked`.
    ///
    /// GRDB's own `close()` cannot be used: using a closed queue or pool ends the process. Until the program
    /// releases the queue or pool, its connections remain open, but without a key, a codec, pages or
    /// temporary tables.
    static func invalidate(_ writer: any DatabaseWriter, _ handle: DatabaseKeyHandle) {
        let forget = "PRAGMA \(DatabaseKeyHandle.forgetPragma)"
        try? writer.barrierWriteWithoutTransaction { db in
            do {
                // Throws when the program closed the database itself: a checkpoint would then end the process
                // too.
                try db.execute(sql: forget)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
                // The program left a transaction or a cursor open.
            }
            if db.isInsideTransaction { try? db.rollback() }
            if !handle.isRevoked { _ = try? db.checkpoint(.truncate) }
            handle.revoke()
            RevokedConnection.empty(db)
            try db.execute(sql: forget)
            db.releaseMemory()
        }
        handle.revoke()
        (writer as? DatabasePool)?.invalidateReadOnlyConnections()
    }

    /// Converts an error that GRDB threw to a `CofferError`, such as `corrupt` for a damaged page, `noSpace`
    /// for a full disk or `busy` for a locked database.
    ///
    /// - Parameter error: The error that GRDB threw.
    /// - Returns: The converted error, or `error` itself if it is already a `CofferError`.
    public static func failure(_ error: any Error) -> CofferError { failure(error, opening: nil, at: nil) }

    /// Converts an error that GRDB threw for the database at `path`. If this user may not use one of its
    /// files, the error names that file.
    package static func failure(_ error: any Error, at path: FilePath) -> CofferError {
        failure(error, opening: nil, at: path)
    }

    static func failure(_ error: any Error, opening handle: DatabaseKeyHandle?, at path: FilePath?)
        -> CofferError
    {
        if let error = error as? CofferError { return error }
        guard let error = error as? DatabaseError else {
            return CofferError(.inputOutput, "The database cannot be used: \(error).")
        }
        let concernsFiles =
            [.SQLITE_CANTOPEN, .SQLITE_READONLY].contains(error.extendedResultCode)
            || error.resultCode == .SQLITE_CANTOPEN
        if concernsFiles, let path, let reason = try? UnopenedFile.error(at: absolutePath(path)) {
            return reason
        }
        let isRefusal = RevokedConnection.isRefusal(error)
        return SQLiteFailure.error(
            isRefusal ? DatabaseError.SQLITE_AUTH_USER.rawValue : error.extendedResultCode.rawValue,
            error.message ?? "no message", opening: handle)
    }
}
