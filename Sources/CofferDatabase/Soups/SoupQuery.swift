import CofferBase
import GRDB

/// The query that a cursor runs again at every move.
enum SoupQuery: Sendable {
    case spec(QuerySpec, soup: String)
    case smart(SmartQuery)

    /// One page, and the total number of rows.
    struct Page: Sendable {
        var index: Int
        var totalEntries: Int
        var rows: [Row]

        /// A row before its documents are parsed, which happens after the database is released.
        enum Row: Sendable {
            case document(String)
            case values([(value: JSONValue, isDocument: Bool)])

            func value() throws(CofferError) -> JSONValue {
                switch self {
                case .document(let text): return try JSONValue(stored: text)
                case .values(let columns):
                    var values: [JSONValue] = []
                    for column in columns { values.append(try Self.value(column)) }
                    return .array(values)
                }
            }

            private static func value(
                _ column: (value: JSONValue, isDocument: Bool)
            ) throws(CofferError) -> JSONValue {
                guard column.isDocument, let text = column.value.string else { return column.value }
                return try JSONValue(stored: text)
            }
        }
    }

    var pageSize: Int {
        switch self {
        case .spec(let spec, _): spec.pageSize
        case .smart(let query): query.pageSize
        }
    }

    func checkPageSize() throws(CofferError) {
        guard pageSize > 0 else { throw CofferError(.invalidInput, "The page size must be at least 1.") }
    }

    /// Returns the SQL that selects all rows, in the query's order.
    private func rows(_ db: Database) throws -> BoundSQL {
        switch self {
        case .spec(let spec, let soup):
            return try SoupSelection(spec, try SoupCatalog.require(soup, db)).documents
        case .smart(let query):
            let sql = try query.template.sql { try SoupCatalog.require($0, db) }
            return BoundSQL(sql: "SELECT * FROM (\(sql))", arguments: [])
        }
    }

    private func countSQL(_ db: Database) throws -> BoundSQL {
        switch self {
        case .spec(let spec, let soup):
            return try SoupSelection(spec, try SoupCatalog.require(soup, db)).count
        case .smart:
            let all = try rows(db)
            return BoundSQL(sql: "SELECT count(*) FROM (\(all.sql))", arguments: all.arguments)
        }
    }

    /// Prepares a read-only statement with its arguments.
    private func statement(_ bound: BoundSQL, _ db: Database) throws -> Statement {
        let statement = try db.cachedStatement(sql: bound.sql)
        guard statement.isReadonly else { throw SmartTemplate.refusal("it would write to the database") }
        var arguments = StatementArguments(bound.arguments)
        if case .smart(let query) = self {
            for value in query.arguments { arguments += [try Self.argument(value)] }
            for (name, value) in query.named { arguments += [name: try Self.argument(value)] }
        }
        do { try statement.setArguments(arguments) } catch {
            throw SmartTemplate.refusal("its arguments do not match its parameters")
        }
        return statement
    }

    private static func argument(_ value: JSONValue) throws -> DatabaseValue {
        switch value {
        case .null: return .null
        case .bool(let truth): return truth.databaseValue
        case .integer(let number): return number.databaseValue
        case .number(let number) where number.isFinite: return number.databaseValue
        case .string(let text) where text.utf8.contains(0):
            throw SmartTemplate.refusal("an argument contains a NUL")
        case .string(let text): return text.databaseValue
        default: return try value.jsonText().databaseValue
        }
    }

    func count(_ db: Database) throws -> Int {
        try Int.fetchOne(try statement(try countSQL(db), db)) ?? 0
    }

    /// Returns the ids of all entries that a query over one soup finds.
    static func ids(_ spec: QuerySpec, _ soup: String, _ db: Database) throws -> [Int64] {
        let ids = try SoupSelection(spec, try SoupCatalog.require(soup, db)).ids
        return try Int64.fetchAll(db, sql: ids.sql, arguments: StatementArguments(ids.arguments))
    }

    static func texts(_ documents: BoundSQL, _ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: documents.sql, arguments: StatementArguments(documents.arguments))
    }

    /// Returns the page at `index`, which is empty when the index is out of range.
    func page(_ index: Int, _ db: Database) throws -> Page {
        let total = try count(db)
        guard index < Self.pages(total, pageSize) else {
            return Page(index: index, totalEntries: total, rows: [])
        }
        var bound = try rows(db)
        bound.sql += " LIMIT \(pageSize) OFFSET \(index * pageSize)"
        let found = try Row.fetchCursor(try statement(bound, db))
        var rows: [Page.Row] = []
        while let row = try found.next() { rows.append(try Self.row(row, self)) }
        return Page(index: index, totalEntries: total, rows: rows)
    }

    static func pages(_ total: Int, _ size: Int) -> Int { total / size + (total % size > 0 ? 1 : 0) }

    private static func row(_ row: Row, _ query: SoupQuery) throws -> Page.Row {
        if case .spec = query { return .document(row[0]) }
        return .values(
            row.map { name, value in
                // SQLite numbers columns of the same name: _soup, _soup:1, _soup:2.
                let isDocument =
                    name.hasSameBytes(as: SoupField.document)
                    || name.utf8.hasPrefix(SoupField.document + ":")
                return (Self.json(value), isDocument)
            })
    }

    private static func json(_ value: DatabaseValue) -> JSONValue {
        switch value.storage {
        case .null: .null
        case .int64(let number): .integer(number)
        case .double(let number): number.isFinite ? .number(number) : .null
        case .string(let text): .string(text)
        case .blob(let data):
            .string(HexText.encode(Array(data)))
        }
    }

    /// Returns SQLite's query plan, one line per step.
    func plan(_ db: Database) throws -> [String] {
        let all = try rows(db)
        let explained = BoundSQL(sql: "EXPLAIN QUERY PLAN " + all.sql, arguments: all.arguments)
        return try Row.fetchAll(try statement(explained, db)).map { $0["detail"] }
    }
}
