public import CofferBase

/// A `SELECT` over soups, for what one condition on one path cannot say.
///
/// `{soup}` stands for a soup, `{soup:path}` for an indexed path of it, `{soup:_soup}` for the document, and
/// `{soup:_soupEntryId}`, `{soup:_soupCreatedDate}`, `{soup:_soupLastModifiedDate}` and
/// `{soup:_soupLastViewedDate}` for what every entry has. With a name of your own for the soup, as a join of
/// a soup with itself needs, write `name.{soup:path}`. `{soup:_fullText}` is its FTS5 table, whose `rowid` is
/// the entry's id.
///
/// ```swift
/// SmartQuery(
///     "SELECT {accounts:Name}, count(*) FROM {accounts} WHERE {accounts:Rating} > ? GROUP BY 1",
///     arguments: [3])
/// ```
///
/// Values come in as arguments only. The query reads: whatever would write is refused.
public struct SmartQuery: Sendable {
    let template: SmartTemplate
    let arguments: [JSONValue]
    let named: [String: JSONValue]

    /// How many rows a page of the cursor has.
    public let pageSize: Int

    /// A query.
    ///
    /// - Parameters:
    ///   - sql: One `SELECT`, which may begin with `WITH`.
    ///   - arguments: The values of `?`, in order. Arrays and objects are given as their JSON text.
    ///   - named: The values of `:name`, without the colon.
    ///   - pageSize: At least 1.
    /// - Throws: `invalidInput` for a text that does not begin with `SELECT`, `WITH` or `VALUES`, holds
    ///   several statements, or has a quotation, comment, brace or parenthesis without its end.
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
