import CofferBase

/// Which entries of a soup to find, by one condition on one indexed path, and in what order.
///
/// Beside the soup's index paths, `_soupEntryId`, `_soupCreatedDate`, `_soupLastModifiedDate` and
/// `_soupLastViewedDate` can be asked for and ordered by. Entries with equal values are in order of their
/// ids.
public struct QuerySpec: Sendable, Hashable {
    /// The direction of the order.
    public enum Order: String, Sendable, CaseIterable {
        /// Least first; entries without a value come before all others.
        case ascending = "ASC"
        /// Greatest first.
        case descending = "DESC"
    }

    enum Condition: Sendable, Hashable {
        case all
        case exact(path: String, key: JSONValue)
        case range(path: String, begin: JSONValue?, end: JSONValue?)
        case like(path: String, pattern: String)
        case match(path: String?, expression: String)
    }

    /// The page size where none is given.
    public static let defaultPageSize = 10

    let condition: Condition

    /// The path to order by; `nil` for order by id, or by relevance of a match.
    public let orderPath: String?
    /// The direction.
    public let order: Order
    /// How many entries a page of the cursor has.
    public let pageSize: Int

    private init(_ condition: Condition, _ orderPath: String?, _ order: Order, _ pageSize: Int) {
        self.condition = condition
        self.orderPath = orderPath
        self.order = order
        self.pageSize = pageSize
    }

    /// Every entry.
    ///
    /// - Parameters:
    ///   - orderPath: An index path; `nil` for order by id.
    ///   - order: The direction.
    ///   - pageSize: At least 1.
    /// - Returns: The query.
    public static func all(
        orderPath: String? = nil, order: Order = .ascending, pageSize: Int = defaultPageSize
    ) -> QuerySpec {
        QuerySpec(.all, orderPath, order, pageSize)
    }

    /// Entries whose value at `path` is `key`.
    ///
    /// - Parameters:
    ///   - key: The value; `null` finds entries that have none.
    ///   - path: An index path.
    ///   - orderPath: An index path; `nil` for order by id.
    ///   - order: The direction.
    ///   - pageSize: At least 1.
    /// - Returns: The query.
    public static func exact(
        _ key: JSONValue, path: String, orderPath: String? = nil, order: Order = .ascending,
        pageSize: Int = defaultPageSize
    ) -> QuerySpec {
        QuerySpec(.exact(path: path, key: key), orderPath, order, pageSize)
    }

    /// Entries whose value at `path` lies between two keys, which are part of the range.
    ///
    /// - Parameters:
    ///   - begin: The least value; `nil` for no bound.
    ///   - end: The greatest value; `nil` for no bound. With neither, every entry is found.
    ///   - path: An index path, which is also ordered by unless `orderPath` says otherwise.
    ///   - orderPath: An index path.
    ///   - order: The direction.
    ///   - pageSize: At least 1.
    /// - Returns: The query.
    public static func range(
        from begin: JSONValue?, to end: JSONValue?, path: String, orderPath: String? = nil,
        order: Order = .ascending, pageSize: Int = defaultPageSize
    ) -> QuerySpec {
        QuerySpec(.range(path: path, begin: begin, end: end), orderPath ?? path, order, pageSize)
    }

    /// Entries whose text at `path` is like a pattern: `%` stands for any text, `_` for one character, and a
    /// backslash takes its meaning from either. ASCII letters match in both cases. The slowest query: it
    /// looks at every entry.
    ///
    /// - Parameters:
    ///   - pattern: The pattern; see ``literal(_:)``.
    ///   - path: An index path, which is also ordered by unless `orderPath` says otherwise.
    ///   - orderPath: An index path.
    ///   - order: The direction.
    ///   - pageSize: At least 1.
    /// - Returns: The query.
    public static func like(
        _ pattern: String, path: String, orderPath: String? = nil, order: Order = .ascending,
        pageSize: Int = defaultPageSize
    ) -> QuerySpec {
        QuerySpec(.like(path: path, pattern: pattern), orderPath ?? path, order, pageSize)
    }

    /// Entries with words that an expression of SQLite's FTS5 asks for.
    ///
    /// - Parameters:
    ///   - expression: Such as `cloud AND sto*`; see ``words(_:)``.
    ///   - path: A path with a full-text index; `nil` for all of them.
    ///   - orderPath: An index path; `nil` for the best match first.
    ///   - order: The direction; that of relevance does not change.
    ///   - pageSize: At least 1.
    /// - Returns: The query.
    public static func match(
        _ expression: String, path: String? = nil, orderPath: String? = nil, order: Order = .ascending,
        pageSize: Int = defaultPageSize
    ) -> QuerySpec {
        QuerySpec(.match(path: path, expression: expression), orderPath, order, pageSize)
    }

    /// Text for a pattern of ``like(_:path:orderPath:order:pageSize:)`` in which nothing has a meaning.
    ///
    /// - Parameter text: Any text.
    /// - Returns: The text, its `%`, `_` and `\` escaped.
    public static func literal(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
                    scalar == "%" || scalar == "_" || scalar == "\\" ? ["\\", scalar] : [scalar]
                }))
    }

    /// An expression for ``match(_:path:orderPath:order:pageSize:)`` that finds entries with all words of a
    /// text that a person typed.
    ///
    /// - Parameter text: Any text.
    /// - Returns: The words, each in quotation marks; empty when there are none, which finds nothing.
    public static func words(_ text: String) -> String {
        text.unicodeScalars.split(whereSeparator: \.properties.isWhitespace)
            .map { "\"" + Substring($0).doubling("\"") + "\"" }.joined(separator: " ")
    }
}
