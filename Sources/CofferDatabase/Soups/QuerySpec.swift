public import CofferBase

/// A query for entries in a soup: one condition on one indexed path, and an order.
///
/// In addition to the soup's index paths, the condition and the order can use the fields `_soupEntryId`,
/// `_soupCreatedDate`, `_soupLastModifiedDate` and `_soupLastViewedDate`. Entries with equal values are
/// ordered by id.
public struct QuerySpec: Sendable, Hashable {
    /// The sort direction.
    public enum Order: String, Sendable, CaseIterable {
        /// Smallest values first; entries without a value come before all others.
        case ascending = "ASC"
        /// Largest values first; entries without a value come after all others.
        case descending = "DESC"
    }

    enum Condition: Sendable, Hashable {
        case all
        case exact(path: String, key: JSONValue)
        case range(path: String, begin: JSONValue?, end: JSONValue?)
        case like(path: String, pattern: String)
        case match(path: String?, expression: String)
    }

    /// The default page size.
    public static let defaultPageSize = 10

    let condition: Condition

    /// The path to order by; `nil` orders by id, or by relevance for a match query.
    public let orderPath: String?
    /// The sort direction.
    public let order: Order
    /// The number of entries on a page of the cursor.
    public let pageSize: Int

    private init(_ condition: Condition, _ orderPath: String?, _ order: Order, _ pageSize: Int) {
        self.condition = condition
        self.orderPath = orderPath
        self.order = order
        self.pageSize = pageSize
    }

    /// Creates a query for every entry.
    ///
    /// - Parameters:
    ///   - orderPath: The index path to order by; `nil` orders by id.
    ///   - order: The sort direction.
    ///   - pageSize: The number of entries on a page; at least 1.
    /// - Returns: A query to pass to ``SoupStore/query(_:in:)``.
    public static func all(
        orderPath: String? = nil, order: Order = .ascending, pageSize: Int = defaultPageSize
    ) -> QuerySpec {
        QuerySpec(.all, orderPath, order, pageSize)
    }

    /// Creates a query for entries whose value at `path` is `key`.
    ///
    /// - Parameters:
    ///   - key: The value to find; `null` finds entries without a value.
    ///   - path: An index path.
    ///   - orderPath: The index path to order by; `nil` orders by id.
    ///   - order: The sort direction.
    ///   - pageSize: The number of entries on a page; at least 1.
    /// - Returns: A query to pass to ``SoupStore/query(_:in:)``.
    public static func exact(
        _ key: JSONValue, path: String, orderPath: String? = nil, order: Order = .ascending,
        pageSize: Int = defaultPageSize
    ) -> QuerySpec {
        QuerySpec(.exact(path: path, key: key), orderPath, order, pageSize)
    }

    /// Creates a query for entries whose value at `path` lies between two keys, inclusive.
    ///
    /// - Parameters:
    ///   - begin: The smallest value; `nil` for no bound.
    ///   - end: The largest value; `nil` for no bound. With neither, the query finds every entry.
    ///   - path: An index path. The results are ordered by it unless `orderPath` is set.
    ///   - orderPath: The index path to order by; `nil` orders by `path`.
    ///   - order: The sort direction.
    ///   - pageSize: The number of entries on a page; at least 1.
    /// - Returns: A query to pass to ``SoupStore/query(_:in:)``.
    public static func range(
        from begin: JSONValue?, to end: JSONValue?, path: String, orderPath: String? = nil,
        order: Order = .ascending, pageSize: Int = defaultPageSize
    ) -> QuerySpec {
        QuerySpec(.range(path: path, begin: begin, end: end), orderPath ?? path, order, pageSize)
    }

    /// Creates a query for entries whose text at `path` matches a pattern.
    ///
    /// In the pattern, `%` stands for any text and `_` for one character; a backslash before `%`, `_` or
    /// another backslash makes that character literal. The case of ASCII letters is ignored. This kind of
    /// query is the slowest, because it examines every entry.
    ///
    /// - Parameters:
    ///   - pattern: The pattern. To match part of it literally, escape that part with ``literal(_:)``.
    ///   - path: An index path. The results are ordered by it unless `orderPath` is set.
    ///   - orderPath: The index path to order by; `nil` orders by `path`.
    ///   - order: The sort direction.
    ///   - pageSize: The number of entries on a page; at least 1.
    /// - Returns: A query to pass to ``SoupStore/query(_:in:)``.
    public static func like(
        _ pattern: String, path: String, orderPath: String? = nil, order: Order = .ascending,
        pageSize: Int = defaultPageSize
    ) -> QuerySpec {
        QuerySpec(.like(path: path, pattern: pattern), orderPath ?? path, order, pageSize)
    }

    /// Creates a query for entries whose words match an SQLite FTS5 expression.
    ///
    /// - Parameters:
    ///   - expression: The expression, such as `cloud AND sto*`. To search for words that a user typed,
    ///     create it with ``words(_:)``.
    ///   - path: A path with a full-text index; `nil` searches all such paths.
    ///   - orderPath: The index path to order by; `nil` for the best match first.
    ///   - order: The sort direction; ordering by relevance ignores it.
    ///   - pageSize: The number of entries on a page; at least 1.
    /// - Returns: A query to pass to ``SoupStore/query(_:in:)``.
    public static func match(
        _ expression: String, path: String? = nil, orderPath: String? = nil, order: Order = .ascending,
        pageSize: Int = defaultPageSize
    ) -> QuerySpec {
        QuerySpec(.match(path: path, expression: expression), orderPath, order, pageSize)
    }

    /// Returns text escaped for use in a ``like(_:path:orderPath:order:pageSize:)`` pattern that matches it
    /// literally.
    ///
    /// - Parameter text: Any text.
    /// - Returns: The text, with `%`, `_` and `\` escaped.
    public static func literal(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
                    scalar == "%" || scalar == "_" || scalar == "\\" ? ["\\", scalar] : [scalar]
                }))
    }

    /// Returns an expression for ``match(_:path:orderPath:order:pageSize:)`` that finds the entries that
    /// contain every word in text that a user typed.
    ///
    /// - Parameter text: Any text.
    /// - Returns: The words, each in quotation marks. If `text` contains no words, the result is empty, and a
    ///   query with it finds nothing.
    public static func words(_ text: String) -> String {
        text.unicodeScalars.split(whereSeparator: \.properties.isWhitespace)
            .map { "\"" + Substring($0).doubling("\"") + "\"" }.joined(separator: " ")
    }
}
