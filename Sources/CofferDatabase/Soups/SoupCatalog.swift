import CofferBase
import GRDB

/// The tables that list a store's soups. Every transaction reads them again, because other processes can
/// change them.
enum SoupCatalog {
    private static let format = 1

    /// Creates the tables if they do not exist.
    ///
    /// - Throws: `unsupportedVersion` if a later release created the tables.
    static func prepare(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS coffer_soup_store (
                    format INTEGER NOT NULL, last_storage INTEGER NOT NULL);
                INSERT INTO coffer_soup_store (format, last_storage)
                    SELECT \(format), 0 WHERE NOT EXISTS (SELECT 1 FROM coffer_soup_store);
                """)
        let found = try Int.fetchOne(db, sql: "SELECT max(format) FROM coffer_soup_store")
        guard found == format else {
            throw CofferError(
                .unsupportedVersion,
                "The soups have format \(found ?? 0), but this release reads only format \(format). Use "
                    + "the release that created the soups.")
        }
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS coffer_soups (
                    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
                    storage INTEGER NOT NULL UNIQUE, created INTEGER NOT NULL);
                CREATE TABLE IF NOT EXISTS coffer_soup_indexes (
                    soup INTEGER NOT NULL, number INTEGER NOT NULL, path TEXT NOT NULL, kind TEXT NOT NULL,
                    PRIMARY KEY (soup, number)) WITHOUT ROWID;
                CREATE TABLE IF NOT EXISTS coffer_soup_operations (
                    soup INTEGER PRIMARY KEY, kind TEXT NOT NULL, storage INTEGER NOT NULL,
                    specs TEXT NOT NULL, progress INTEGER NOT NULL);
                CREATE TABLE IF NOT EXISTS coffer_soup_changes (
                    soup INTEGER NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (soup, entry)) WITHOUT ROWID;
                CREATE TABLE IF NOT EXISTS coffer_soup_files (
                    soup INTEGER NOT NULL, entry INTEGER NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL,
                    PRIMARY KEY (soup, entry, name)) WITHOUT ROWID;
                CREATE TABLE IF NOT EXISTS coffer_released_files (file TEXT PRIMARY KEY) WITHOUT ROWID;
                """)
    }

    static func names(_ db: Database) throws -> [String] {
        try String.fetchAll(db.cachedStatement(sql: "SELECT name FROM coffer_soups ORDER BY name"))
    }

    /// Returns the soup with this name; `nil` when there is none.
    static func find(_ name: String, _ db: Database) throws -> SoupLayout? {
        // A name with a control character was never accepted, and a NUL would truncate it.
        guard (try? SoupLayout.check(name: name)) != nil else { return nil }
        let statement = try db.cachedStatement(
            sql: "SELECT id, storage, name, created FROM coffer_soups WHERE name = ?")
        return try Row.fetchOne(statement, arguments: [name]).map { try layout(of: $0, db) }
    }

    /// Returns the soup with this name.
    ///
    /// - Throws: `absent` when there is none.
    static func require(_ name: String, _ db: Database) throws -> SoupLayout {
        guard let layout = try find(name, db) else { throw CofferError.absentSoup(name) }
        return layout
    }

    static func find(id: Int64, _ db: Database) throws -> SoupLayout? {
        let statement = try db.cachedStatement(
            sql: "SELECT id, storage, name, created FROM coffer_soups WHERE id = ?")
        return try Row.fetchOne(statement, arguments: [id]).map { try layout(of: $0, db) }
    }

    private static func layout(of row: Row, _ db: Database) throws -> SoupLayout {
        let id: Int64 = row[0]
        let statement = try db.cachedStatement(
            sql: "SELECT path, kind, number FROM coffer_soup_indexes WHERE soup = ? ORDER BY number")
        let indexes = try Row.fetchAll(statement, arguments: [id]).map { row in
            guard let kind = IndexSpec.Kind(rawValue: row[1]) else {
                throw CofferError(
                    .unsupportedVersion,
                    "A soup has an index of a kind that this release does not support. Use a newer release.")
            }
            return try SoupIndex(IndexSpec(row[0], kind), number: row[2])
        }
        return SoupLayout(id: id, storage: row[1], name: row[2], created: row[3], indexes: indexes)
    }

    /// Returns a number for the names of a soup's new tables. Numbers are never reused.
    static func newStorage(_ db: Database) throws -> Int64 {
        try db.execute(sql: "UPDATE coffer_soup_store SET last_storage = last_storage + 1")
        return try Int64.fetchOne(db, sql: "SELECT last_storage FROM coffer_soup_store") ?? 0
    }

    /// Creates a soup and its tables.
    static func create(_ name: String, _ specs: [IndexSpec], now: Int64, _ db: Database) throws {
        let indexes = try SoupLayout.indexes(specs)
        let storage = try newStorage(db)
        try db.execute(
            sql: "INSERT INTO coffer_soups (name, storage, created) VALUES (?, ?, ?)",
            arguments: [name, storage, now])
        let layout = SoupLayout(
            id: db.lastInsertedRowID, storage: storage, name: name, created: now, indexes: indexes)
        try write(layout, db)
        try layout.createTables(db)
        try layout.createReleaseTrigger(db)
    }

    /// Records a soup's tables and indexes, replacing the previous ones.
    static func write(_ layout: SoupLayout, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE coffer_soups SET storage = ? WHERE id = ?", arguments: [layout.storage, layout.id])
        try db.execute(sql: "DELETE FROM coffer_soup_indexes WHERE soup = ?", arguments: [layout.id])
        for index in layout.indexes {
            try db.execute(
                sql: "INSERT INTO coffer_soup_indexes (soup, number, path, kind) VALUES (?, ?, ?, ?)",
                arguments: [layout.id, index.number, index.spec.path, index.spec.kind.rawValue])
        }
    }

    /// Removes a soup with its entries and any operation in progress on it.
    static func drop(_ layout: SoupLayout, _ db: Database) throws {
        if let operation = try ResumableOperation.find(soup: layout.id, db) {
            try operation.abandon(layout, db)
        }
        try layout.dropTables(db)
        try db.execute(
            sql: "INSERT INTO coffer_released_files (file) SELECT file FROM coffer_soup_files WHERE soup = ?",
            arguments: [layout.id])
        for table in ["files", "indexes"] {
            try db.execute(sql: "DELETE FROM coffer_soup_\(table) WHERE soup = ?", arguments: [layout.id])
        }
        try db.execute(sql: "DELETE FROM coffer_soups WHERE id = ?", arguments: [layout.id])
    }
}
