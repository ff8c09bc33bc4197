public import Coffer
public import CofferBase
public import GRDB
import Synchronization

/// A store that keeps JSON documents in named sets, called soups, and finds them by indexed paths.
///
/// ```swift
/// let store = try await SoupStore.open(on: database)
/// try await store.registerSoup("accounts", indexSpecs: [IndexSpec("Name", .string)])
/// try await store.upsert([["Name": "Cloud Inc"]], in: "accounts")
/// let cursor = try await store.query(.like("Cloud%", path: "Name"), in: "accounts")
/// ```
///
/// A store uses a database that is open in GRDB and may contain other tables; the names of the store's tables
/// begin with `coffer_`. The store is as secure as that database: use an encrypted one. Several stores, even
/// in different processes, may use one database at the same time. Every call runs in one transaction on one
/// of GRDB's threads and never blocks the cooperative pool.
///
/// Every call throws `locked` when the store or its database was closed or the database's key was revoked,
/// `busy` when another connection keeps the database locked for longer than GRDB's `busyMode` waits,
/// `noSpace`, `readOnly`, `inputOutput` or `corrupt` when the underlying file fails, and `cancelled` when its
/// task is cancelled. A call that throws an error has no effect. The exceptions are
/// ``alterSoup(_:indexSpecs:)`` and ``reindexSoup(_:paths:)``, which use many transactions: after an error,
/// the rest of their work is done later.
public final class SoupStore: Sendable {
    /// The database; `nil` after ``end()``.
    private let database: Mutex<(any DatabaseWriter)?>
    let clock: VaultClock
    /// A closure called between the transactions of a resumable operation, so that tests can stop the
    /// operation there.
    let checkpoint: @Sendable (ResumableOperation.Step) throws(CofferError) -> Void

    private init(
        _ writer: any DatabaseWriter, _ clock: VaultClock,
        _ checkpoint: @escaping @Sendable (ResumableOperation.Step) throws(CofferError) -> Void
    ) {
        database = Mutex(writer)
        self.clock = clock
        self.checkpoint = checkpoint
    }

    /// Opens the store in a database, creating the store if necessary, and finishes interrupted changes to
    /// soups.
    ///
    /// - Parameters:
    ///   - writer: An open database, from `EncryptedDatabase` if the documents are to be protected.
    ///   - clock: The clock that supplies dates.
    /// - Returns: An open store.
    /// - Throws: `unsupportedVersion` if a later release created the store.
    public static func open(
        on writer: any DatabaseWriter, clock: VaultClock = .system
    ) async throws(CofferError) -> SoupStore {
        try await open(on: writer, clock: clock) { _ throws(CofferError) in }
    }

    /// Opens an in-memory store for tests. The store is not encrypted and is lost when the last reference to
    /// it is released.
    ///
    /// - Parameter clock: The clock that supplies dates.
    /// - Returns: An open store.
    /// - Throws: `outOfMemory` if there is not enough memory for the store.
    public static func insecureInMemory(clock: VaultClock = .system) async throws(CofferError) -> SoupStore {
        let queue: DatabaseQueue
        do { queue = try DatabaseQueue() } catch { throw CofferError(soups: error) }
        return try await open(on: queue, clock: clock)
    }

    static func open(
        on writer: any DatabaseWriter, clock: VaultClock,
        checkpoint: @escaping @Sendable (ResumableOperation.Step) throws(CofferError) -> Void
    ) async throws(CofferError) -> SoupStore {
        let store = SoupStore(writer, clock, checkpoint)
        try await store.write { try SoupCatalog.prepare($0) }
        try await store.finishOperations()
        return store
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(CofferError) -> Value {
        do {
            return try await writer().unsafeRead { db in
                try Self.checkOpen(db)
                return try db.readOnly { try Self.transaction(.deferred, db, body) }
            }
        } catch {
            throw CofferError(soups: error)
        }
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(CofferError) -> Value {
        do {
            return try await writer().writeWithoutTransaction { db in
                try Self.checkOpen(db)
                return try Self.transaction(.immediate, db, body)
            }
        } catch {
            throw CofferError(soups: error)
        }
    }

    private func writer() throws(CofferError) -> any DatabaseWriter {
        guard let writer = database.withLock({ $0 }) else {
            throw CofferError(.locked, "The store was closed. Get the store again.")
        }
        return writer
    }

    /// Rejects new calls, waits for running ones and releases the database. GRDB closes the database when the
    /// last reference to it is released; closing it here would be unsafe, because GRDB has no lock for a
    /// thread that begins to read while another closes the database.
    func end() async {
        guard let writer = database.withLock({ $0.take() }) else { return }
        _ = try? await BlockingExecutor.run { _ throws(CofferError) in
            do { try writer.barrierWriteWithoutTransaction { _ in } } catch {
                throw CofferError(soups: error)
            }
        }
    }

    /// Throws if the connection was closed; GRDB's own transactions would end the process instead.
    private static func checkOpen(_ db: Database) throws { _ = try db.cachedStatement(sql: "SELECT 1") }

    private static func transaction<Value>(
        _ kind: Database.TransactionKind, _ db: Database, _ body: (Database) throws -> Value
    ) throws -> Value {
        var result: Result<Value, CofferError> = .failure(
            CofferError(.internalFailure, "The operation did not run."))
        try db.inTransaction(kind) {
            result = .success(try body(db))
            return .commit
        }
        return try result.get()
    }

    /// The current date, in milliseconds since 1970.
    var now: Int64 { clock.wallClock().wholeMilliseconds }
}

extension SoupStore {
    /// Creates a soup. If a soup of this name exists with the same indexes, in any order, the method does
    /// nothing.
    ///
    /// - Parameters:
    ///   - name: The soup's name: 1 to 255 bytes without braces, colons or control characters;
    ///     case-sensitive.
    ///   - indexSpecs: The soup's indexes, 1 to 128.
    /// - Throws: `invalidInput` if the name or a path is not valid, if two indexes have the same path, or if
    ///   the number of indexes is not from 1 to 128; `alreadyExists` if a soup of this name has other
    ///   indexes, which you can change with ``alterSoup(_:indexSpecs:)``.
    public func registerSoup(_ name: String, indexSpecs: [IndexSpec]) async throws(CofferError) {
        try SoupLayout.check(name: name)
        _ = try SoupLayout.indexes(indexSpecs)
        let now = now
        try await write { db in
            guard let found = try SoupCatalog.find(name, db) else {
                return try SoupCatalog.create(name, indexSpecs, now: now, db)
            }
            guard found.hasIndexes(indexSpecs) else {
                throw CofferError(
                    .alreadyExists,
                    "The soup \(CofferError.quoted(name)) already exists with other indexes. To change "
                        + "its indexes, alter the soup.")
            }
        }
    }

    /// Returns whether a soup of this name exists.
    public func soupExists(_ name: String) async throws(CofferError) -> Bool {
        try await read { try SoupCatalog.find(name, $0) != nil }
    }

    /// Returns the names of all soups, in byte order.
    public func soupNames() async throws(CofferError) -> [String] {
        try await read { try SoupCatalog.names($0) }
    }

    /// Returns the indexes of a soup, in the order of registration.
    ///
    /// - Throws: `absent` if the soup does not exist.
    public func indexSpecs(of soup: String) async throws(CofferError) -> [IndexSpec] {
        try await read { try SoupCatalog.require(soup, $0).specs }
    }

    /// Returns the attributes of a soup.
    ///
    /// - Throws: `absent` if the soup does not exist.
    public func attributes(of soup: String) async throws(CofferError) -> SoupAttributes {
        try await read { db in
            let layout = try SoupCatalog.require(soup, db)
            let row = try Row.fetchOne(
                db, sql: "SELECT count(*), max(\(SoupField.lastModified)) FROM \(layout.table)")
            return SoupAttributes(
                name: layout.name, indexSpecs: layout.specs, createdDate: layout.created,
                entryCount: row?[0] ?? 0, lastModifiedDate: row?[1],
                isBeingAltered: try ResumableOperation.find(soup: layout.id, db) != nil)
        }
    }

    /// Removes a soup with all its entries. Returns whether the soup existed.
    @discardableResult
    public func removeSoup(_ name: String) async throws(CofferError) -> Bool {
        try await write { db in
            guard let layout = try SoupCatalog.find(name, db) else { return false }
            try SoupCatalog.drop(layout, db)
            return true
        }
    }

    /// Removes every soup. Returns the number of removed soups.
    @discardableResult
    public func removeAllSoups() async throws(CofferError) -> Int {
        try await write { db in
            let names = try SoupCatalog.names(db)
            for name in names { try SoupCatalog.drop(try SoupCatalog.require(name, db), db) }
            return names.count
        }
    }

    /// Removes all entries from a soup but keeps the soup. Returns the number of removed entries, whose ids
    /// are not reused.
    ///
    /// - Throws: `absent` if the soup does not exist.
    @discardableResult
    public func clearSoup(_ name: String) async throws(CofferError) -> Int {
        try await write { db in
            try db.execute(sql: "DELETE FROM \(SoupCatalog.require(name, db).table)")
            return db.changesCount
        }
    }

    /// Returns the total size of the database's pages in bytes, including the pages that other tables use.
    public func size() async throws(CofferError) -> Int64 {
        try await read { db in
            let pages = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            return pages * (try Int64.fetchOne(db, sql: "PRAGMA page_size") ?? 0)
        }
    }

    /// Returns the size of a soup's documents as JSON, in bytes.
    ///
    /// - Throws: `absent` if the soup does not exist.
    public func size(of soup: String) async throws(CofferError) -> Int64 {
        try await read { db in
            let table = try SoupCatalog.require(soup, db).table
            return try Int64.fetchOne(
                db, sql: "SELECT sum(length(CAST(\(SoupField.document) AS BLOB))) FROM \(table)") ?? 0
        }
    }
}

extension Duration {
    /// The duration in milliseconds, truncated to a whole number and clamped to 64 bits.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds.magnitude < UInt64(Int64.max / 1000) else { return seconds < 0 ? .min : .max }
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
