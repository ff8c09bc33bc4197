import CofferBase
import FoundationEssentials
import GRDB

/// An index of a registered soup: its specification and the place where its values are stored.
struct SoupIndex: Sendable {
    let spec: IndexSpec
    let path: SoupPath
    /// The index's number, counted from 1 in the order of registration.
    let number: Int

    init(_ spec: IndexSpec, number: Int) throws(CofferError) {
        self.spec = spec
        self.number = number
        path = try SoupPath(spec.path)
        if spec.kind == .json1 { _ = try path.sqlitePath() }
    }

    /// The column that holds the values; `nil` for `json1`, which has none.
    var column: String? { spec.kind == .json1 ? nil : "c\(number)" }

    var columnType: String {
        switch spec.kind {
        case .string, .fullText, .json1: "TEXT"
        case .integer: "INTEGER"
        case .floating: "REAL"
        }
    }

    /// Returns the SQL expression for the index's values in `table`, a table name or an alias; `nil` leaves
    /// the columns unqualified.
    func expression(in table: String?) throws(CofferError) -> String {
        let prefix = table.map { $0 + "." } ?? ""
        if let column { return prefix + column }
        let path = try path.sqlitePath().doubling("'")
        return "json_extract(\(prefix)\(SoupField.document), '\(path)')"
    }

    /// Returns the value to store in the index's column for a document.
    func columnValue(of document: JSONValue) throws(CofferError) -> DatabaseValue {
        guard let value = path.project(document) else { return .null }
        switch spec.kind {
        case .string: return try Self.text(of: value).map(Self.bound) ?? .null
        case .fullText:
            let words = Self.words(of: value)
            return words.isEmpty ? .null : Self.bound(words.joined(separator: "\n"))
        case .integer: return Self.wholeNumber(of: value)
        case .floating: return Self.number(of: value).map { $0.databaseValue } ?? .null
        case .json1: return .null
        }
    }

    /// Returns the value to compare with when `key` is looked up.
    ///
    /// - Throws: `invalidInput` if no value of this index could equal it.
    func key(_ key: JSONValue) throws(CofferError) -> DatabaseValue {
        switch (spec.kind, key) {
        case (_, .null): return .null
        case (.string, _), (.fullText, _): return try Self.text(of: key).map(Self.bound) ?? .null
        case (.json1, .string), (.json1, .array), (.json1, .object):
            return try Self.text(of: key).map(Self.bound) ?? .null
        case (_, .integer(let number)): return number.databaseValue
        case (_, .bool(let value)): return value.databaseValue
        case (_, .number), (_, .bigInteger):
            guard let number = Self.number(of: key), number.isFinite else { break }
            return number.databaseValue
        default: break
        }
        throw CofferError(
            .invalidInput,
            "The index on \(CofferError.quoted(spec.path)) contains numbers, but the key is not a number.")
    }

    /// The SQL placeholder for a key, which casts text that was bound as bytes back to text.
    var keyPlaceholder: String { spec.kind == .string || spec.kind == .fullText ? "CAST(? AS TEXT)" : "?" }

    /// Returns text as a value to bind. Text that contains a NUL is bound as bytes, because SQLite would cut
    /// it off at the NUL.
    private static func bound(_ text: String) -> DatabaseValue {
        text.utf8.contains(0) ? Data(text.utf8).databaseValue : text.databaseValue
    }

    private static func text(of value: JSONValue) throws(CofferError) -> String? {
        switch value {
        case .null: nil
        case .string(let text): text
        default: try value.jsonText()
        }
    }

    /// Returns every text and number in a value, at any depth.
    private static func words(of value: JSONValue) -> [String] {
        switch value {
        case .null, .bool: []
        case .string(let text): [text]
        case .integer(let number): [number.description]
        case .bigInteger(let digits): [digits]
        case .number(let number): [number.description]
        case .array(let elements): elements.flatMap(words)
        case .object(let fields): fields.sorted { $0.key < $1.key }.flatMap { words(of: $0.value) }
        }
    }

    private static func wholeNumber(of value: JSONValue) -> DatabaseValue {
        if let number = value.integer { return number.databaseValue }
        guard let number = number(of: value) else { return .null }
        return Int64(exactly: number.rounded(.towardZero))?.databaseValue ?? number.databaseValue
    }

    private static func number(of value: JSONValue) -> Double? {
        if let truth = value.bool { return truth ? 1 : 0 }
        return value.double
    }
}
