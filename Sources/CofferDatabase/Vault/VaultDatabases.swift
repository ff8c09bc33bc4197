public import Coffer
public import CofferBase
import CofferEngineSQLite
public import GRDB

/// A program's own databases in a vault, through GRDB: encrypted, each with a random key that the vault
/// keeps.
///
/// ```swift
/// let databases = VaultDatabases.of(session)
/// let notes = try await databases.pool("notes")
/// try migrator.migrate(notes)
/// ```
///
/// The class says when a database can be opened. A lock that drops the class takes the key back at once and
/// closes the database, whether the program keeps this actor or the queue or pool alone: what runs on it is
/// interrupted, a cursor returns no further row, and so does a snapshot. All that is done with the queue or
/// pool afterwards fails, also with temporary tables, which are dropped; what was committed stays. GRDB's own
/// error then says “authorization denied”, “authorizer malfunction” or “interrupted”, and
/// ``EncryptedDatabase/failure(_:)`` makes `locked` of them. Ask for the database again after the next
/// unlock. A queue or pool keeps its session.
///
/// SQLite asks Coffer by its progress handler (`sqlite3_progress_handler`) whether a statement may go on. A
/// program that sets one of its own replaces it: a statement that runs then goes on after the lock, with
/// the pages that SQLite has in memory.
///
/// To close one yourself, call ``close(_:)``. After GRDB's own `close()`, reading through the closed queue or
/// pool ends the process; ask for the database again, which opens it. Wiping the vault destroys every
/// database; removing the passcode destroys those of the class
/// ``ProtectionClass/whenPasscodeSetThisDeviceOnly``. A wipe of the tokens alone leaves them.
public actor VaultDatabases {
    /// What the files of these databases begin with.
    private static let scope = "database"

    private struct Open {
        let writer: any DatabaseWriter
        let access: VaultDatabaseFiles.Access
        var lease: DatabaseKeyHandle { access.lease }
        /// Neither ended by a lock nor closed by the program through GRDB.
        var isUsable: Bool { !lease.isRevoked && lease.isInUse }
    }

    private let files: VaultDatabaseFiles
    private var open: [String: Open] = [:]
    /// The openings that go on.
    private var pendingOpens: [String: Task<Result<Open, any Error>, Never>] = [:]

    private init(_ session: Vault) { files = VaultDatabaseFiles(session) }

    /// The databases of a vault. They close with its lock, where their class does, and when it is closed or
    /// wiped.
    ///
    /// - Parameter session: The vault.
    /// - Returns: The databases. Two of them on one vault know nothing of what the other has open.
    public static func of(_ session: Vault) -> VaultDatabases {
        let databases = VaultDatabases(session)
        session.onKeyEviction(while: databases) { [weak databases] _ in
            guard let databases else { return }
            // By then the vault may be unlocked again and the databases open anew: those stay.
            Task { await databases.close { $0.isRevoked } }
        }
        return databases
    }

    /// Opens a database for one writer and several readers, or makes it. The same pool each time while it is
    /// open.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 letters and digits of ASCII, dashes, dots and underlines; no dot at the start.
    ///   - protection: When a new one can be opened; one that is there keeps its class.
    ///   - configuration: GRDB's configuration.
    /// - Returns: GRDB's pool.
    /// - Throws: ``CofferBase/CofferError``: `locked`, `wiped`; `refused` for a class that needs a passcode
    ///   where none is set; `conflict` when it is open as a queue; `corrupt` when its key is missing. A
    ///   program's own error, thrown in what the configuration prepares, comes back as it is.
    public func pool(
        _ name: String = "default", class protection: ProtectionClass = .whenUnlockedThisDeviceOnly,
        configuration: Configuration = Configuration()
    ) async throws -> DatabasePool {
        let kept = files.keepingSession(configuration)
        let writer = try await writer(name, protection) { (access) in
            try EncryptedDatabase.pool(at: access.path, lease: access.lease, configuration: kept)
        }
        return try Self.expect(writer)
    }

    /// Opens a database for one connection, or makes it. The same queue each time while it is open.
    ///
    /// - Parameters:
    ///   - name: As for ``pool(_:class:configuration:)``.
    ///   - protection: As there.
    ///   - configuration: GRDB's configuration.
    /// - Returns: GRDB's queue.
    /// - Throws: As there; `conflict` when it is open as a pool.
    public func queue(
        _ name: String = "default", class protection: ProtectionClass = .whenUnlockedThisDeviceOnly,
        configuration: Configuration = Configuration()
    ) async throws -> DatabaseQueue {
        let kept = files.keepingSession(configuration)
        let writer = try await writer(name, protection) { (access) in
            try EncryptedDatabase.queue(at: access.path, lease: access.lease, configuration: kept)
        }
        return try Self.expect(writer)
    }

    private static func expect<Writer: DatabaseWriter>(
        _ writer: any DatabaseWriter
    ) throws(CofferError) -> Writer {
        guard let writer = writer as? Writer else {
            throw CofferError(.conflict, "The database is open as \(type(of: writer)): close it first.")
        }
        return writer
    }

    private func writer(
        _ name: String, _ protection: ProtectionClass,
        _ make: @escaping @Sendable (VaultDatabaseFiles.Access) throws -> any DatabaseWriter
    ) async throws -> any DatabaseWriter {
        let name = try SoupStoreName(name, .user).name
        while let open = open[name] {
            guard !open.isUsable else { return open.writer }
            await close(name)
        }
        // Whoever asks meanwhile gets the same one.
        let opening = pendingOpens[name] ?? Task { await opened(name, protection, make) }
        pendingOpens[name] = opening
        return try await opening.value.get().writer
    }

    private func opened(
        _ name: String, _ protection: ProtectionClass,
        _ make: @escaping @Sendable (VaultDatabaseFiles.Access) throws -> any DatabaseWriter
    ) async -> Result<Open, any Error> {
        defer { pendingOpens[name] = nil }
        do {
            let access = try await files.access(Self.scope, name, class: protection)
            let result = try await BlockingExecutor.run { _ throws(CofferError) in
                Result { try make(access) }
            }
            let writer = try result.get()
            files.invalidate(writer, of: access, unless: self)
            await files.noteCreation(of: access, by: writer)
            let made = Open(writer: writer, access: access)
            guard !access.lease.isRevoked else {
                await invalidate(made)
                throw CofferError(.locked, "The vault was locked while the database was opened.")
            }
            open[name] = made
            return .success(made)
        } catch {
            return .failure(error)
        }
    }

    /// What is known of a database; `nil` when there is none.
    public func info(of name: String) async throws(CofferError) -> VaultDatabaseInfo? {
        let name = try SoupStoreName(name, .user).name
        guard try await files.contains(Self.scope, name) else { return nil }
        let protection = try await files.session.tokens.protection(of: DatabaseKeyNaming.id(Self.scope, name))
        return VaultDatabaseInfo(
            name: name, protection: protection,
            isAvailable: protection.map { files.session.hasKey(of: $0) } ?? false,
            isOpen: open[name]?.isUsable ?? false)
    }

    /// The names of the databases that there are, in order; known also while the vault is locked.
    public func names() async throws(CofferError) -> [String] {
        try await files.names().filter { $0.scope == Self.scope }.map(\.name).sorted()
    }

    /// Destroys a database with its key; gives whether there was one. Works while the vault is locked.
    @discardableResult
    public func remove(_ name: String = "default") async throws(CofferError) -> Bool {
        let name = try SoupStoreName(name, .user).name
        await close(name)
        return try await files.destroy(Self.scope, name)
    }

    /// Closes every database that is open.
    public func close() async { await close { _ in true } }

    /// Closes a database, if it is open, after what runs on it. Its queue or pool fails from then on.
    public func close(_ name: String) async {
        if let opening = pendingOpens[name] { _ = await opening.value }
        guard let open = open.removeValue(forKey: name) else { return }
        await invalidate(open)
    }

    private func close(where isDoomed: @Sendable (DatabaseKeyHandle) -> Bool) async {
        for opening in Array(pendingOpens.values) { _ = await opening.value }
        // Taken out before the first of them is waited for: afterwards there may be others of their names.
        let toClose = open.filter { isDoomed($0.value.lease) }
        for name in toClose.keys { open[name] = nil }
        for database in toClose.values { await invalidate(database) }
    }

    private func invalidate(_ open: Open) async {
        // A queue has its first page with its first write.
        await files.noteCreation(of: open.access, by: open.writer)
        _ = try? await BlockingExecutor.run { _ throws(CofferError) in
            EncryptedDatabase.invalidate(open.writer, open.lease)
        }
    }
}
