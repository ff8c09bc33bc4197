import CofferBase
import GRDB

/// A change to a soup that takes many transactions and is recorded in the database, so that it can resume
/// after an interruption.
///
/// Altering a soup creates new tables while the old ones stay in use, records the changes made in the
/// meantime, and then replaces the old tables in one transaction. Reindexing works in place.
struct ResumableOperation: Sendable {
    enum Kind: String { case alter, reindex }

    /// The result of one transaction.
    enum Step: Sendable, Equatable { case begun, moved, caughtUp, reindexed, finished }

    /// The maximum number of entries processed in one transaction.
    private static let batch = 200

    let soup: Int64
    let kind: Kind
    /// The number in the names of the new tables or, for reindexing, in the names of the present tables.
    let storage: Int64
    /// The new indexes or, for reindexing, the indexes to rebuild.
    let specs: [IndexSpec]
    /// The id of the last processed entry.
    let progress: Int64

    static func find(soup: Int64, _ db: Database) throws -> ResumableOperation? {
        let statement = try db.cachedStatement(
            sql: "SELECT kind, storage, specs, progress FROM coffer_soup_operations WHERE soup = ?")
        guard let row = try Row.fetchOne(statement, arguments: [soup]) else { return nil }
        guard let kind = Kind(rawValue: row[0]) else {
            throw CofferError(
                .unsupportedVersion,
                "A soup is being changed by an operation that this release does not support. Use a newer "
                    + "release.")
        }
        return ResumableOperation(
            soup: soup, kind: kind, storage: row[1], specs: try specs(in: row[2]), progress: row[3])
    }

    static func all(_ db: Database) throws -> [Int64] {
        try Int64.fetchAll(db, sql: "SELECT soup FROM coffer_soup_operations ORDER BY soup")
    }

    /// Records the operation, and prepares the tables and triggers that it needs.
    func begin(_ layout: SoupLayout, _ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO coffer_soup_operations VALUES (?, ?, ?, ?, ?)",
            arguments: [soup, kind.rawValue, storage, try Self.text(of: specs), progress])
        guard kind == .alter else {
            // Rebuild the full-text index first: if it disagreed with its columns, it could not be changed
            // entry by entry.
            if specs.contains(where: { $0.kind == .fullText }) {
                let text = layout.textTable
                try db.execute(sql: "INSERT INTO \(text) (\(text)) VALUES ('rebuild')")
            }
            return
        }
        try target(layout).createTables(db)
        let changes: KeyValuePairs = ["INSERT": "new", "UPDATE": "new", "DELETE": "old"]
        for (event, row) in changes {
            let values = "\(soup), \(row).\(SoupField.entryID)"
            try db.execute(
                sql: """
                    CREATE TRIGGER \(layout.table)_log_\(event) AFTER \(event) ON \(layout.table) BEGIN
                        INSERT OR IGNORE INTO coffer_soup_changes VALUES (\(values));
                    END
                    """)
        }
    }

    /// Performs the next step.
    func step(_ db: Database) throws -> Step {
        guard let layout = try SoupCatalog.find(id: soup, db) else {
            throw CofferError(
                .corrupt, "A soup that is being changed does not exist. Restore a copy of the database.")
        }
        switch kind {
        case .reindex: return try stepOfReindexing(layout, db)
        case .alter: return try stepOfAltering(layout, db)
        }
    }

    /// Cancels the operation: removes its tables, triggers and records, and keeps the soup's present tables.
    func abandon(_ layout: SoupLayout, _ db: Database) throws {
        if kind == .alter {
            try target(layout).dropTables(db)
            for event in ["INSERT", "UPDATE", "DELETE"] {
                try db.execute(sql: "DROP TRIGGER IF EXISTS \(layout.table)_log_\(event)")
            }
        }
        try forget(db)
    }

    private func forget(_ db: Database) throws {
        for table in ["operations", "changes"] {
            try db.execute(sql: "DELETE FROM coffer_soup_\(table) WHERE soup = ?", arguments: [soup])
        }
    }

    private func target(_ layout: SoupLayout) throws -> SoupLayout {
        layout.moved(to: storage, indexes: try SoupLayout.indexes(specs))
    }
}

extension ResumableOperation {
    private func stepOfReindexing(_ layout: SoupLayout, _ db: Database) throws -> Step {
        let entries = try entries("> ?", progress, of: layout, limit: Self.batch, db)
        let wanted = try specs.map { try layout.index(on: $0.path) }
        guard let last = entries.last else {
            try db.execute(sql: "REINDEX \(layout.table)")
            try forget(db)
            return .finished
        }
        for index in wanted {
            guard let column = index.column else { continue }
            let statement = try db.cachedStatement(
                sql: """
                    UPDATE \(layout.table) SET \(column) = \(index.keyPlaceholder)
                    WHERE \(SoupField.entryID) = ?
                    """)
            for entry in entries {
                let value = try index.columnValue(of: entry.document)
                try statement.execute(arguments: [value, entry.id])
            }
        }
        try advance(to: last.id, db)
        return .reindexed
    }

    private func stepOfAltering(_ layout: SoupLayout, _ db: Database) throws -> Step {
        let target = try target(layout)
        let entries = try entries("> ?", progress, of: layout, limit: Self.batch, db)
        if let last = entries.last {
            let writer = try EntryWriter(db, target)
            for entry in entries { try writer.insert(entry.document, id: entry.id, entry.dates) }
            try advance(to: last.id, db)
            return .moved
        }
        return try applyPending(layout, target, db) ? .caughtUp : try swapIn(target, insteadOf: layout, db)
    }

    /// Applies some of the changes made to entries since the operation began. Returns whether there were any
    /// changes to apply.
    private func applyPending(_ layout: SoupLayout, _ target: SoupLayout, _ db: Database) throws -> Bool {
        let changed = try Int64.fetchAll(
            db, sql: "SELECT entry FROM coffer_soup_changes WHERE soup = ? ORDER BY entry LIMIT ?",
            arguments: [soup, Self.batch])
        let writer = try EntryWriter(db, target)
        for id in changed {
            try db.execute(
                sql: "DELETE FROM \(target.table) WHERE \(SoupField.entryID) = ?", arguments: [id])
            for entry in try entries("= ?", id, of: layout, limit: 1, db) {
                try writer.insert(entry.document, id: id, entry.dates)
            }
            try db.execute(
                sql: "DELETE FROM coffer_soup_changes WHERE soup = ? AND entry = ?", arguments: [soup, id])
        }
        return !changed.isEmpty
    }

    private func swapIn(
        _ target: SoupLayout, insteadOf layout: SoupLayout, _ db: Database
    ) throws -> Step {
        // Ids that were in use must not be reused in the new tables.
        let last = try EntryWriter(db, layout).lastID()
        try db.execute(sql: "DELETE FROM sqlite_sequence WHERE name = ?", arguments: [target.table])
        try db.execute(
            sql: "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", arguments: [target.table, last])
        try target.createReleaseTrigger(db)
        try layout.dropTables(db)
        try SoupCatalog.write(target, db)
        try forget(db)
        return .finished
    }

    private struct Entry {
        let id: Int64
        let dates: EntryWriter.Dates
        let document: JSONValue
    }

    /// Returns entries whose id meets `condition`, a comparison with `id` such as `> ?`, ordered by id.
    private func entries(
        _ condition: String, _ id: Int64, of layout: SoupLayout, limit: Int, _ db: Database
    ) throws -> [Entry] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(SoupField.entryID), \(SoupField.created), \(SoupField.lastModified),
                    \(SoupField.lastViewed), \(SoupField.document) FROM \(layout.table)
                WHERE \(SoupField.entryID) \(condition) ORDER BY \(SoupField.entryID) LIMIT ?
                """)
        return try Row.fetchAll(statement, arguments: [id, limit]).map { row in
            let dates = EntryWriter.Dates(created: row[1], lastModified: row[2], lastViewed: row[3])
            return Entry(id: row[0], dates: dates, document: try JSONValue(stored: row[4]))
        }
    }

    private func advance(to id: Int64, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE coffer_soup_operations SET progress = ? WHERE soup = ?", arguments: [id, soup])
    }

    private static func text(of specs: [IndexSpec]) throws -> String {
        try JSONValue.array(specs.map { .array([.string($0.path), .string($0.kind.rawValue)]) }).jsonText()
    }

    private static func specs(in text: String) throws -> [IndexSpec] {
        try (try JSONValue(stored: text).array ?? []).map { element in
            guard let path = element[0]?.string, let name = element[1]?.string,
                let kind = IndexSpec.Kind(rawValue: name)
            else {
                throw CofferError(
                    .corrupt, "The record of a change to a soup is damaged. Restore a copy of the database.")
            }
            return IndexSpec(path, kind)
        }
    }
}
