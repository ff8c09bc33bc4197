import CofferBase
import GRDB

/// Writes entries to one soup's tables, within one transaction.
struct EntryWriter {
    private let db: Database
    private let layout: SoupLayout
    private let insertion: Statement
    private let change: Statement

    init(_ db: Database, _ layout: SoupLayout) throws {
        self.db = db
        self.layout = layout
        let columns = layout.columns
        let names = columns.compactMap(\.column)
        let fixed = [SoupField.entryID, SoupField.created, SoupField.lastModified, SoupField.lastViewed]
        let places = fixed.map { _ in "?" } + columns.map(\.keyPlaceholder) + ["?"]
        let list = (fixed + names + [SoupField.document]).joined(separator: ", ")
        insertion = try db.cachedStatement(
            sql: "INSERT INTO \(layout.table) (\(list)) VALUES (\(places.joined(separator: ", ")))")
        let settings = columns.compactMap { index in
            index.column.map { "\($0) = \(index.keyPlaceholder), " }
        }
        change = try db.cachedStatement(
            sql: """
                UPDATE \(layout.table) SET \(SoupField.lastModified) = ?, \(settings.joined())
                \(SoupField.document) = ? WHERE \(SoupField.entryID) = ?
                """)
    }

    /// The dates of an entry, in milliseconds since 1970.
    struct Dates {
        var created: Int64
        var lastModified: Int64
        var lastViewed: Int64
    }

    /// Inserts a document under an id that is not in use.
    func insert(_ document: JSONValue, id: Int64, _ dates: Dates) throws {
        var values = [id, dates.created, dates.lastModified, dates.lastViewed].map(\.databaseValue)
        for index in layout.columns { values.append(try index.columnValue(of: document)) }
        values.append(try document.jsonText().databaseValue)
        try insertion.execute(arguments: StatementArguments(values))
    }

    /// Replaces the document under `id`.
    func update(_ document: JSONValue, id: Int64, lastModified: Int64) throws {
        var values = [lastModified.databaseValue]
        for index in layout.columns { values.append(try index.columnValue(of: document)) }
        values += [try document.jsonText().databaseValue, id.databaseValue]
        try change.execute(arguments: StatementArguments(values))
    }

    /// Returns the date at which the entry under `id` was inserted; `nil` when there is no such entry.
    func created(_ id: Int64) throws -> Int64? {
        let statement = try db.cachedStatement(
            sql: "SELECT \(SoupField.created) FROM \(layout.table) WHERE \(SoupField.entryID) = ?")
        return try Int64.fetchOne(statement, arguments: [id])
    }

    /// Returns the highest id that has ever been in use.
    func lastID() throws -> Int64 {
        let statement = try db.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = ?")
        return try Int64.fetchOne(statement, arguments: [layout.table]) ?? 0
    }
}
