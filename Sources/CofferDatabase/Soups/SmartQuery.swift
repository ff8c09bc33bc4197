public import CofferBase

/// A `SELECT` over soups, for conditions that a ``QuerySpec`` cannot express.
///
/// `{soup}` stands for a soup, `{soup:path}` for one of its indexed paths, `{soup:_soup}` for the document,
/// and `{soup:_soupEntryId}`, `{soup:_soupCreatedDate}`, `{soup:_soupLastModifiedDate}` and
/// `{soup:_soupLastViewedDate}` for the fields of every entry. If the query uses an alias for the soup, as in
/// a join of a soup with itself, write `alias.{soup:path}`. `{soup:_fullText}` stands for the soup's FTS5
/// table, whose `rowid` is the entry's id.
///
/// ```swift
/// SmartQuery(
///     "SELECT {accounts:Name}, count(*) FROM {accounts} WHERE {accounts:Rating} > ? GROUP BY 1",
///     arguments: [3])
/// ```
///
/// Pass values only as arguments. The query is read-only: a statement that would write throws `invalidInput`.
public struct SmartQuery: Sendable {
    let template: SmartTemplate
    let arguments: [JSONValue]
    let named: [String: JSONValue]

    /// The number of rows on a page of the cursor.
    public let pageSize: Int

    /// Creates a query.
    ///
    /// - Parameters:
    ///   - sql: One `SELECT` or `VALUES` statement, which may begin with `WITH`.
    ///   - arguments: The values for the `?` placeholders, in order. Arrays and objects are passed as their
    ///     JSON text.
    ///   - named: The values for placeholders such as `:name`, keyed by the name without the colon.
    ///   - pageSize: The number of rows on a page; at least 1.
    /// - Throws: `invalidInput` if `sql` does not begin with `SELECT`, `WITH` or `VALUES`, contains several
    ///   statements or a NUL, or has an unclosed quotation or comment or an unbalanced brace or parenthesis.
    public init(
        _ sql: String, arguments: [JSONValue] = [], named: [String: JSONValue] = [:],
        pageSize: Int = QuerySpec.defaultPageSize
    ) throws(CofferError) {
        template = try SmartTemplate(sql)
        self.arguments = arguments
        self.named = named
        self.pageSize = pageSize
    }
}
