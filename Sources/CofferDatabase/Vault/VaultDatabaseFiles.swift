import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferEngineSQLite
import GRDB
import SystemPackage

/// The databases in a vault's directory, each with a random key that the vault stores as a token.
///
/// Therefore the vault's lock and the key's class also apply to the database, destroying the key destroys the
/// database, and wiping the vault destroys all databases. A lock that evicts the class key revokes the key of
/// every open database, on the locking thread: every open queue, pool or statement fails from then on.
final class VaultDatabaseFiles: Sendable {
    /// A namespace of database names, which is the first part of a database's file name.
    typealias Scope = String

    /// A database's registered key, with the database's class and path.
    struct Access: Sendable {
        let handle: DatabaseKeyHandle
        let protection: ProtectionClass
        let path: FilePath
        /// The stored key; `nil` for a session-only database.
        fileprivate let stored: StoredKey?

        /// Whether the database is session-only.
        var isVolatile: Bool { stored == nil }
    }

    let session: Vault
    /// The session-only databases, whose keys the vault does not store.
    let volatile: VolatileDatabases

    init(_ session: Vault) {
        self.session = session
        volatile = VolatileDatabases(session)
    }

    /// Has the vault invalidate a database whose class key it evicted, unless `owner` still exists and does
    /// so itself.
    func invalidate(
        _ writer: any DatabaseWriter, of access: Access, unless owner: (any AnyObject & Sendable)?
    ) {
        let (handle, protection, isOwned) = (access.handle, access.protection, owner != nil)
        session.onKeyEviction(while: writer, isForAnyLock: access.isVolatile) {
            [weak writer, weak handle, weak owner] lost in
            guard lost.contains(protection), !isOwned || owner == nil, let writer, let handle else { return }
            Task(executorPreference: MainExecutor.current) {
                _ = try? await BlockingExecutor.run { _ throws(CofferError) in
                    EncryptedDatabase.invalidate(writer, handle)
                }
            }
        }
    }

    /// Returns a configuration that keeps the vault and its session-only databases alive, so that the vault's
    /// locks still revoke the database's key.
    func keepingSession(_ configuration: Configuration) -> Configuration {
        var configuration = configuration
        configuration.prepareDatabase { [session, volatile] _ in
            withExtendedLifetime((session, volatile)) {}
        }
        return configuration
    }

    /// Returns a database's key. Creates the key when neither the key nor the database exists.
    ///
    /// - Throws: `locked`, `wiped`; `refused` if the class needs a passcode and none is set; `corrupt` if a
    ///   database of this name was created but its key is missing, or its file is missing or empty;
    ///   `conflict` if there is a session-only database of this name.
    func access(
        _ scope: Scope, _ name: String, class protection: ProtectionClass?
    ) async throws(CofferError) -> Access {
        let id = try DatabaseKeyNaming.id(scope, name)
        guard try await volatileProtection(scope, name) == nil else {
            throw CofferError(
                .conflict,
                "The database \(id.account) is session-only. Use another name, or remove the database.")
        }
        let found = try await key(id, scope, name, class: protection)
        let path = directory.appending(DatabaseKeyNaming.file(scope, name))
        let isThere = try await Self.hasPages(path)
        guard found.salt == nil || isThere else {
            throw CofferError(
                .corrupt,
                "The database \(id.account) existed but is now empty. Restore a copy, or remove the "
                    + "database.")
        }
        let handle = try StoredDatabaseKey.handle(found.token, salt: found.salt)
        session.revokeOnEviction(handle, with: found.protection)
        // The vault may have been locked after the key was read and before it was registered.
        guard session.hasKey(of: found.protection) else {
            handle.revoke()
            throw CofferError(
                .locked,
                "The vault was locked while the database was being opened. Unlock the vault, then try again.")
        }
        return Access(
            handle: handle, protection: found.protection, path: path, stored: StoredKey(id: id, key: found))
    }

    /// Opens a database with `body`, and once more if its key was replaced before `body` opened the file.
    func opening<Opened: Sendable>(
        _ scope: Scope, _ name: String, class protection: ProtectionClass?, isVolatile: Bool,
        _ body: @escaping @Sendable (Access) throws -> Opened
    ) async throws -> (opened: Opened, access: Access) {
        func open(_ access: Access) async throws(CofferError) -> Result<Opened, any Error> {
            try await BlockingExecutor.run { _ throws(CofferError) in Result { try body(access) } }
        }
        guard !isVolatile else {
            let access = try await volatileAccess(scope, name, class: protection)
            return (try await open(access).get(), access)
        }
        let access = try await self.access(scope, name, class: protection)
        let result = try await open(access)
        guard case .failure = result, let stored = access.stored, !access.handle.isRevoked,
            let current = try? await self.stored(stored.id, scope, name),
            current.version != stored.key.version
        else { return (try result.get(), access) }
        let newAccess = try await self.access(scope, name, class: protection)
        return (try await open(newAccess).get(), newAccess)
    }

    /// Returns the key of a session-only database. Creates the database if the session has none of this name.
    ///
    /// - Throws: The errors of ``VolatileDatabases/database(_:class:)``; `conflict` if a stored database of
    ///   this name exists.
    func volatileAccess(
        _ scope: Scope, _ name: String, class protection: ProtectionClass?
    ) async throws(CofferError) -> Access {
        guard try await !contains(scope, name) else {
            throw CofferError(
                .conflict,
                "The database \(scope)/\(name) is stored in the vault, so it cannot be session-only. Use "
                    + "another name, or remove the database.")
        }
        let volatile = volatile
        let file = DatabaseKeyNaming.file(scope, name)
        let protection = try await resolved(protection)
        return try await BlockingExecutor.run { _ throws(CofferError) in
            let database = try volatile.database(file, class: protection)
            let handle = try database.handle()
            return Access(
                handle: handle, protection: database.protection, path: database.path, stored: nil)
        }
    }

    /// Once the database has a page, records with the key that the database exists. If that fails, the next
    /// opening records it.
    func noteCreation(of access: Access, by writer: any DatabaseWriter) async {
        guard let stored = access.stored, stored.key.salt == nil, !access.handle.isRevoked,
            (try? await Self.hasPages(access.path)) == true
        else { return }
        // Reads the first page, in case another connection has written it. Other ways to read would end the
        // process when the program has closed the queue.
        let isRead = try? await BlockingExecutor.run { _ throws(CofferError) in
            (try? writer.barrierWriteWithoutTransaction {
                try Int.fetchOne($0, sql: "PRAGMA schema_version")
            }) != nil
        }
        guard isRead == true, let identity = access.handle.identity, let version = stored.key.version else {
            return
        }
        try? await session.tokens.putReserved(
            stored.key.token, for: stored.id, class: access.protection,
            attributes: [StoredDatabaseKey.identityAttribute: HexText.encode(identity)],
            precondition: .version(version))
    }

    /// Reports whether the file exists and is not empty. Does not open it, because closing it would drop
    /// SQLite's locks.
    private static func hasPages(_ path: FilePath) async throws(CofferError) -> Bool {
        try await BlockingExecutor.run { _ throws(CofferError) in
            guard let name = path.lastComponent, let folder = try opened(path.removingLastComponent()) else {
                return false
            }
            return (try folder.status(of: FilePath(name.string))?.size ?? 0) > 0
        }
    }

    /// Returns the scopes and names of the stored databases. You can call this method while the vault is
    /// locked.
    func names() async throws(CofferError) -> [(scope: Scope, name: String)] {
        let directory = directory
        return try await BlockingExecutor.run { _ throws(CofferError) in try Self.names(in: directory) }
    }

    /// Returns the scopes and names of the databases in a directory. Blocks.
    static func names(in directory: FilePath) throws(CofferError) -> [(scope: Scope, name: String)] {
        guard let files = try opened(directory) else { return [] }
        return try files.names().compactMap { DatabaseKeyNaming.parts(of: $0.string) }
    }

    /// Returns the scopes and names of this session's session-only databases.
    func volatileNames() async throws(CofferError) -> [(scope: Scope, name: String)] {
        let volatile = volatile
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try volatile.files().compactMap { DatabaseKeyNaming.parts(of: $0) }
        }
    }

    /// Returns the class of a session-only database; `nil` if the session has none of this name.
    func volatileProtection(_ scope: Scope, _ name: String) async throws(CofferError) -> ProtectionClass? {
        let volatile = volatile
        let file = DatabaseKeyNaming.file(scope, name)
        return try await BlockingExecutor.run { _ throws(CofferError) in try volatile.protection(of: file) }
    }

    /// Reports whether a stored database exists.
    func contains(_ scope: Scope, _ name: String) async throws(CofferError) -> Bool {
        let directory = directory
        return try await BlockingExecutor.run { _ throws(CofferError) in
            guard let files = try Self.opened(directory) else { return false }
            return try files.status(of: FilePath(DatabaseKeyNaming.file(scope, name))) != nil
        }
    }

    /// Destroys a database's key and then removes its files. Returns whether the key or a file existed. You
    /// can call this method while the vault is locked.
    func destroy(_ scope: Scope, _ name: String) async throws(CofferError) -> Bool {
        let hadKey = try await session.tokens.remove(DatabaseKeyNaming.id(scope, name))
        let directory = directory
        return try await BlockingExecutor.run { _ throws(CofferError) in
            guard let files = try Self.opened(directory) else { return hadKey }
            let hadFile = try DatabaseKeyNaming.remove(DatabaseKeyNaming.file(scope, name), from: files)
            try files.sync()
            return hadKey || hadFile
        }
    }

    /// Ends a session-only database: drops its key and removes its files. Returns whether it existed.
    func destroyVolatile(_ scope: Scope, _ name: String) async throws(CofferError) -> Bool {
        let volatile = volatile
        let file = DatabaseKeyNaming.file(scope, name)
        return try await BlockingExecutor.run { _ throws(CofferError) in try volatile.remove(file) }
    }

    private var directory: FilePath { session.vaultDirectory.pushing(DatabaseKeyNaming.directory) }

    private static func opened(_ path: FilePath) throws(CofferError) -> Descriptor? {
        do throws(CofferError) {
            return try Descriptor.open(path, [.read, .directory])
        } catch {
            guard error.code == .absent else { throw error }
            return nil
        }
    }

    fileprivate struct StoredKey: Sendable {
        let id: TokenID
        let key: Key
    }

    fileprivate struct Key: Sendable {
        let token: Token
        let protection: ProtectionClass
        let version: UInt64?
        /// The database's salt; `nil` until its first page is recorded.
        let salt: [UInt8]?

        init(_ token: Token, _ info: TokenInfo) {
            self.token = token
            protection = info.protection
            version = info.version
            salt = StoredDatabaseKey.salt(in: info.attributes)
        }
    }

    /// Returns the key; creates one when no database exists yet. An unreadable old key is never replaced by a
    /// new one.
    private func key(
        _ id: TokenID, _ scope: Scope, _ name: String, class protection: ProtectionClass?
    ) async throws(CofferError) -> Key {
        if let key = try await stored(id, scope, name) { return key }
        guard try await !contains(scope, name) else {
            throw CofferError(
                .corrupt,
                "The key to the database \(id.account) is missing. Restore the vault or remove the database.")
        }
        try await makeDirectory()
        let protection = try await resolved(protection)
        do throws(CofferError) {
            let key = try Token(SecretBytes.random(count: 32))
            try await session.tokens.putReserved(key, for: id, class: protection)
        } catch {
            // Another process stored a key first.
            guard error.code == .conflict else { throw error }
        }
        // Read the key again: a locked vault accepts a token but does not return it.
        guard let key = try await stored(id, scope, name) else {
            throw CofferError(
                .conflict, "The database \(id.account) was destroyed while it was being opened. Try again.")
        }
        return key
    }

    /// Returns the class for a new database: the given one or the vault's default.
    private func resolved(_ protection: ProtectionClass?) async throws(CofferError) -> ProtectionClass {
        if let protection { return protection }
        return try await session.defaultClass()
    }

    /// Returns the stored key, once a replacement of it that was interrupted is done or undone.
    private func stored(_ id: TokenID, _ scope: Scope, _ name: String) async throws(CofferError) -> Key? {
        guard let found = try await session.tokens.get(id) else { return nil }
        guard StoredDatabaseKey(found).isDouble else { return Key(found.token, found.info) }
        return try await BlockingExecutor.run { [session] _ throws(CofferError) in
            try VaultDatabaseKeys(session).key(scope, name).map { Key($0.token, $0.info) }
        }
    }

    private func makeDirectory() async throws(CofferError) {
        let vault = session.vaultDirectory
        try await BlockingExecutor.run { _ throws(CofferError) in
            do throws(CofferError) {
                try Descriptor.open(vault, [.read, .directory]).makeDirectory(DatabaseKeyNaming.directory)
            } catch {
                guard error.code == .alreadyExists else { throw error }
            }
        }
    }
}
