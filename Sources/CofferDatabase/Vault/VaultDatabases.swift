public import Coffer
public import CofferBase
import CofferEngine
import CofferEngineSQLite
public import GRDB

/// An actor that opens and manages a program's own databases in a vault, for access through GRDB. Each
/// database is encrypted with a random key that the vault stores.
///
/// ```swift
/// let databases = VaultDatabases(vault)
/// let notes = try await databases.pool("notes")
/// try migrator.migrate(notes)
/// ```
///
/// The protection class determines when a database can be opened. A lock that evicts the class key revokes
/// the database's key immediately and closes the database, even if the program keeps only the queue or pool.
/// Running statements are interrupted, and cursors and snapshots return no further rows. Every later use of
/// the queue or pool fails, including the use of temporary tables, which are dropped; committed data is kept.
/// In these cases, GRDB throws “authorization denied”, “authorizer malfunction” or “interrupted”, and
/// ``EncryptedDatabase/failure(_:)`` converts each of these errors to `locked`. Get the database again after
/// the next unlock. A queue or pool keeps its vault alive.
///
/// Coffer installs a progress handler (`sqlite3_progress_handler`), which SQLite calls to ask whether a
/// statement may continue. Coffer also wraps the page cache through which SQLite fetches pages that are
/// already in memory, so, after a lock, neither a backup nor a transaction of another database to which this
/// one is attached gets any further page. A program that replaces the progress handler or SQLite's page cache
/// (`SQLITE_CONFIG_PCACHE2`) loses these guarantees. The pages stay in memory until the database and its
/// snapshots are released, so release your snapshots when the vault locks. An open BLOB handle
/// (`sqlite3_blob_open`) still reads the part of its value that is on the row's own page: close it then. A
/// transaction in which a write was interrupted ends with SQLite's “abort” error, which
/// ``EncryptedDatabase/failure(_:)`` converts to `cancelled`.
///
/// To close a database yourself, call ``close(_:)``. If you call GRDB's own `close()` instead, reading
/// through the closed queue or pool ends the process; getting the database from this actor again reopens it.
///
/// A session-only database (`isVolatile`) has a key that exists only in this process's guarded memory, and
/// files in a private directory within the vault. Any lock drops the key and removes the files before it
/// returns, whatever the database's class; so do closing and wiping the vault. If the process ends without a
/// lock, the files that are left are unreadable, and the next opening of the vault removes them. A
/// session-only database belongs to the actor that created it: no other actor and no other process opens it
/// or meets its name. The command `coffer`, whose processes end at once, keeps a secret in the kernel keyring
/// instead, until the next lock, so that its later processes find the database.
///
/// Wiping the vault destroys every database, and removing the passcode destroys every database with the class
/// `ProtectionClass.whenPasscodeSetThisDeviceOnly`. Wiping only the tokens leaves the databases intact,
/// unless the token file is damaged.
public actor VaultDatabases {
    /// The first part of these databases' file names.
    static let scope = DatabaseKeyNaming.databaseScope

    private struct Open {
        let writer: any DatabaseWriter
        let access: VaultDatabaseFiles.Access
        var handle: DatabaseKeyHandle { access.handle }
        /// Whether neither a lock nor the program, through GRDB, has closed the database.
        var isUsable: Bool { !handle.isRevoked && handle.isInUse }

        /// Returns the queue or pool to a caller that asks for a stored or for a session-only database.
        func writer(isVolatile: Bool) throws(CofferError) -> any DatabaseWriter {
            guard access.isVolatile == isVolatile else {
                throw CofferError(
                    .conflict,
                    access.isVolatile
                        ? "The open database of this name is session-only. Use another name."
                        : "The open database of this name is stored in the vault. Use another name.")
            }
            return writer
        }
    }

    let files: VaultDatabaseFiles
    private var open: [String: Open] = [:]
    /// The databases that are being opened.
    private var pendingOpens: [String: Task<Result<Open, any Error>, Never>] = [:]

    /// Creates an actor that manages a vault's databases. A lock closes those whose class key it evicts;
    /// closing or wiping the vault closes all databases.
    ///
    /// Use one instance for each vault: an instance cannot detect which databases another instance has open.
    ///
    /// - Parameter vault: The vault that contains the databases.
    public init(_ vault: Vault) {
        files = VaultDatabaseFiles(vault)
        vault.onKeyEviction(while: self) { [weak self] _ in
            guard let self else { return }
            // When the task runs, the vault may have been unlocked and databases reopened: those stay open.
            Task(executorPreference: MainExecutor.current) { await self.close { $0.isRevoked } }
        }
    }

    /// Opens a database for one writer and several readers, creating it if necessary. While the database is
    /// open, further calls return the same pool.
    ///
    /// - Parameters:
    ///   - name: The database's name: 1 to 64 ASCII letters, digits, dashes, dots and underscores, not
    ///     beginning with a dot.
    ///   - protection: The class for a new database, `nil` for the vault's default; an existing one keeps
    ///     its class.
    ///   - isVolatile: Whether the database is session-only: its key is never stored, and any lock removes
    ///     the database.
    ///   - configuration: The GRDB configuration.
    /// - Returns: A GRDB pool.
    /// - Throws: A `CofferError`: `locked`; `wiped`; `refused` if the class needs a passcode and none is set;
    ///   `conflict` if the database is open as a queue, if a stored database of this name exists and
    ///   `isVolatile` is `true`, or if a session-only one exists and it is `false`; `corrupt` if a database
    ///   of this name was created but its key is missing, or its file is missing or empty; also the errors of
    ///   ``EncryptedDatabase/pool(at:key:configuration:)-(FilePath,_,_)``. An error that your own code throws
    ///   while it prepares a connection is rethrown unchanged.
    public func pool(
        _ name: String = "default", class protection: ProtectionClass? = nil,
        isVolatile: Bool = false, configuration: Configuration = Configuration()
    ) async throws -> DatabasePool {
        let kept = files.keepingSession(configuration)
        let writer = try await writer(name, protection, isVolatile) { (access) in
            try EncryptedDatabase.pool(at: access.path, handle: access.handle, configuration: kept)
        }
        return try Self.expect(writer)
    }

    /// Opens a database for one connection, creating it if necessary. While the database is open, further
    /// calls return the same queue.
    ///
    /// - Parameters:
    ///   - name: The database's name, in the form that ``pool(_:class:isVolatile:configuration:)`` requires.
    ///   - protection: The class for a new database, `nil` for the vault's default; an existing one keeps
    ///     its class.
    ///   - isVolatile: Whether the database is session-only: its key is never stored, and any lock removes
    ///     the database.
    ///   - configuration: The GRDB configuration.
    /// - Returns: A GRDB queue.
    /// - Throws: The errors of ``pool(_:class:isVolatile:configuration:)``, except that `conflict` is thrown
    ///   if the database is open as a pool.
    public func queue(
        _ name: String = "default", class protection: ProtectionClass? = nil,
        isVolatile: Bool = false, configuration: Configuration = Configuration()
    ) async throws -> DatabaseQueue {
        let kept = files.keepingSession(configuration)
        let writer = try await writer(name, protection, isVolatile) { (access) in
            try EncryptedDatabase.queue(at: access.path, handle: access.handle, configuration: kept)
        }
        return try Self.expect(writer)
    }

    private static func expect<Writer: DatabaseWriter>(
        _ writer: any DatabaseWriter
    ) throws(CofferError) -> Writer {
        guard let writer = writer as? Writer else {
            throw CofferError(
                .conflict, "The database is already open as a \(type(of: writer)). Close it first.")
        }
        return writer
    }

    private func writer(
        _ name: String, _ protection: ProtectionClass?, _ isVolatile: Bool,
        _ make: @escaping @Sendable (VaultDatabaseFiles.Access) throws -> any DatabaseWriter
    ) async throws -> any DatabaseWriter {
        let name = try SoupStoreName.checked(name, of: "database")
        while let open = open[name] {
            guard !open.isUsable else { return try open.writer(isVolatile: isVolatile) }
            await close(name)
        }
        // Callers that ask in the meantime get the same database.
        let opening =
            pendingOpens[name]
            ?? Task(executorPreference: MainExecutor.current) {
                await self.opened(name, protection, isVolatile, make)
            }
        pendingOpens[name] = opening
        return try await opening.value.get().writer(isVolatile: isVolatile)
    }

    private func opened(
        _ name: String, _ protection: ProtectionClass?, _ isVolatile: Bool,
        _ make: @escaping @Sendable (VaultDatabaseFiles.Access) throws -> any DatabaseWriter
    ) async -> Result<Open, any Error> {
        defer { pendingOpens[name] = nil }
        do {
            let (writer, access) = try await files.opening(
                Self.scope, name, class: protection, isVolatile: isVolatile, make)
            files.invalidate(writer, of: access, unless: self)
            await files.noteCreation(of: access, by: writer)
            let created = Open(writer: writer, access: access)
            guard !access.handle.isRevoked else {
                await invalidate(created)
                throw CofferError(
                    .locked,
                    "The vault was locked while the database was being opened. Unlock the vault, "
                        + "then try again.")
            }
            open[name] = created
            return .success(created)
        } catch {
            return .failure(error)
        }
    }

    /// Returns the status of a database; `nil` when it does not exist.
    public func info(of name: String) async throws(CofferError) -> VaultDatabaseInfo? {
        let name = try SoupStoreName.checked(name, of: "database")
        if let protection = try await files.volatileProtection(Self.scope, name) {
            return VaultDatabaseInfo(
                name: name, protection: protection, isVolatile: true,
                isAvailable: files.session.hasKey(of: protection), isOpen: open[name]?.isUsable ?? false)
        }
        guard try await files.contains(Self.scope, name) else { return nil }
        let protection = try await files.session.tokens.protection(of: DatabaseKeyNaming.id(Self.scope, name))
        return VaultDatabaseInfo(
            name: name, protection: protection, isVolatile: false,
            isAvailable: protection.map { files.session.hasKey(of: $0) } ?? false,
            isOpen: open[name]?.isUsable ?? false)
    }

    /// Returns the sorted names of the existing databases, including this actor's session-only ones. You can
    /// call this method while the vault is locked.
    public func names() async throws(CofferError) -> [String] {
        let found = try await files.names() + files.volatileNames()
        return Set(found.filter { $0.scope == Self.scope }.map(\.name)).sorted()
    }

    /// Destroys a database and its key. Returns whether the database or its key existed. You can call this
    /// method while the vault is locked.
    @discardableResult
    public func remove(_ name: String = "default") async throws(CofferError) -> Bool {
        let name = try SoupStoreName.checked(name, of: "database")
        await close(name)
        if try await files.destroyVolatile(Self.scope, name) { return true }
        return try await files.destroy(Self.scope, name)
    }

    /// Closes every database that is open.
    public func close() async { await close { _ in true } }

    /// Closes a database, if it is open, once its running statements have ended. Every later use of its queue
    /// or pool fails.
    public func close(_ name: String) async {
        if let opening = pendingOpens[name] { _ = await opening.value }
        guard let open = open.removeValue(forKey: name) else { return }
        await invalidate(open)
    }

    private func close(where willClose: @Sendable (DatabaseKeyHandle) -> Bool) async {
        for opening in Array(pendingOpens.values) { _ = await opening.value }
        // Remove the databases before the next suspension: after it, `open` may hold new ones of the same
        // names.
        let toClose = open.filter { willClose($0.value.handle) }
        for name in toClose.keys { open[name] = nil }
        for database in toClose.values { await invalidate(database) }
    }

    private func invalidate(_ open: Open) async {
        // A queue writes its first page only with its first write, so the database may not be recorded yet.
        await files.noteCreation(of: open.access, by: open.writer)
        _ = try? await BlockingExecutor.run { _ throws(CofferError) in
            EncryptedDatabase.invalidate(open.writer, open.handle)
        }
    }
}
