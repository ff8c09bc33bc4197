import CofferBase
import GRDB

/// A piece of SQL with its arguments.
struct BoundSQL: Sendable {
    var sql: String
    var arguments: [DatabaseValue]
}

/// A query over the tables of one soup.
struct SoupSelection: Sendable {
    private let spec: QuerySpec
    private let layout: SoupLayout
    /// The SQL from `FROM` on, without `ORDER BY`.
    private let source: BoundSQL
    private let order: String

    init(_ spec: QuerySpec, _ layout: SoupLayout) throws(CofferError) {
        self.spec = spec
        self.layout = layout
        source = try Self.source(spec.condition, layout)
        order = try Self.order(spec, layout)
    }

    var count: BoundSQL { BoundSQL(sql: "SELECT count(*) \(source.sql)", arguments: source.arguments) }

    /// The SQL that selects the ids of all entries, in the query's order.
    var ids: BoundSQL { select(SoupField.entryID) }

    /// The SQL that selects the documents of all entries, in the query's order.
    var documents: BoundSQL { select(SoupField.document) }

    private func select(_ column: String) -> BoundSQL {
        BoundSQL(
            sql: "SELECT \(layout.table).\(column) \(source.sql) ORDER BY \(order)",
            arguments: source.arguments)
    }

    private static func source(
        _ condition: QuerySpec.Condition, _ layout: SoupLayout
    ) throws(CofferError) -> BoundSQL {
        let table = layout.table
        switch condition {
        case .all: return BoundSQL(sql: "FROM \(table)", arguments: [])
        case .exact(let path, let key):
            let operand = try Operand(path, layout)
            return BoundSQL(
                sql: "FROM \(table) WHERE \(operand.expression) IS \(operand.placeholder)",
                arguments: [try operand.key(key)])
        case .range(let path, let begin, let end):
            let operand = try Operand(path, layout)
            var conditions: [String] = []
            var arguments: [DatabaseValue] = []
            for (comparison, key) in [(">=", begin), ("<=", end)] {
                guard let key, key != .null else { continue }
                conditions.append("\(operand.expression) \(comparison) \(operand.placeholder)")
                arguments.append(try operand.key(key))
            }
            let filter = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
            return BoundSQL(sql: "FROM \(table)\(filter)", arguments: arguments)
        case .like(let path, let pattern):
            guard !pattern.utf8.contains(0) else {
                throw CofferError(.invalidInput, "A pattern cannot contain a NUL.")
            }
            let operand = try Operand(path, layout)
            return BoundSQL(
                sql: "FROM \(table) WHERE \(operand.expression) LIKE ? ESCAPE '\\'",
                arguments: [pattern.databaseValue])
        case .match(let path, let expression): return try match(path, expression, layout)
        }
    }

    private static func match(
        _ path: String?, _ expression: String, _ layout: SoupLayout
    ) throws(CofferError) -> BoundSQL {
        let indexes = layout.textIndexes
        guard !indexes.isEmpty else {
            throw CofferError(
                .invalidInput, "The soup \(CofferError.quoted(layout.name)) has no full-text index.")
        }
        guard !expression.utf8.contains(0) else {
            throw CofferError(.invalidInput, "A full-text expression cannot contain a NUL.")
        }
        // The column restricts the whole expression, even one that names columns itself.
        var target = layout.textTable
        if let path {
            let index = try layout.index(on: path)
            guard index.spec.kind == .fullText, let column = index.column else {
                throw CofferError(
                    .invalidInput, "The index on \(CofferError.quoted(path)) is not a full-text index.")
            }
            target += ".\(column)"
        }
        // FTS5 rejects an expression without words.
        guard !expression.unicodeScalars.allSatisfy(\.properties.isWhitespace) else {
            return BoundSQL(sql: "FROM \(layout.textTable) JOIN \(layout.table) WHERE 0", arguments: [])
        }
        return BoundSQL(
            sql: """
                FROM \(layout.textTable)
                JOIN \(layout.table) ON \(layout.table).\(SoupField.entryID) = \(layout.textTable).rowid
                WHERE \(target) MATCH ?
                """, arguments: [expression.databaseValue])
    }

    private static func order(_ spec: QuerySpec, _ layout: SoupLayout) throws(CofferError) -> String {
        let id = "\(layout.table).\(SoupField.entryID)"
        let direction = spec.order.rawValue
        if let path = spec.orderPath {
            let expression = try layout.expression(of: path, in: layout.table)
            return path == SoupField.entryID
                ? "\(id) \(direction)" : "\(expression) \(direction), \(id) \(direction)"
        }
        if case .match = spec.condition { return "\(layout.textTable).rank, \(id)" }
        return "\(id) \(direction)"
    }
}

/// The operand of a condition: an index, or a field that every soup has.
private struct Operand {
    let expression: String
    let placeholder: String
    private let index: SoupIndex?

    init(_ path: String, _ layout: SoupLayout) throws(CofferError) {
        expression = try layout.expression(of: path, in: layout.table)
        index = SoupField.columns.contains(path) ? nil : try layout.index(on: path)
        placeholder = index?.keyPlaceholder ?? "?"
    }

    func key(_ key: JSONValue) throws(CofferError) -> DatabaseValue {
        if let index { return try index.key(key) }
        switch key {
        case .null: return .null
        case .integer(let number): return number.databaseValue
        case .number(let number) where number.isFinite: return number.databaseValue
        default: throw CofferError(.invalidInput, "Ids and dates are numbers, but the key is not a number.")
        }
    }
}
