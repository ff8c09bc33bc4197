public import CofferBase
import GRDB

/// Finding entries.
extension SoupStore {
    /// Finds entries in a soup. Returns a cursor on the first page of their documents.
    ///
    /// - Throws: `absent` when the soup does not exist; `invalidInput` for a path without the index that the
    ///   query needs, a key that no value in the index could equal, a page size below 1 and an invalid FTS5
    ///   expression.
    public func query(_ spec: QuerySpec, in soup: String) async throws(CofferError) -> SoupCursor {
        try await SoupCursor.open(.spec(spec, soup: soup), in: self)
    }

    /// Runs a smart query. Returns a cursor on the first page of its rows. A row is an array with a value for
    /// each column. A column named `_soup` holds documents; to get their text, rename the column.
    ///
    /// - Throws: `absent` when the query names a soup that does not exist; `invalidInput` for a path without
    ///   an index, SQL that SQLite does not understand, a query that writes, arguments that do not match and
    ///   a page size below 1.
    public func query(_ query: SmartQuery) async throws(CofferError) -> SoupCursor {
        try await SoupCursor.open(.smart(query), in: self)
    }

    /// Returns the number of entries that a query finds.
    ///
    /// - Throws: As ``query(_:in:)``.
    public func count(_ spec: QuerySpec = .all(), in soup: String) async throws(CofferError) -> Int {
        try await read { try SoupQuery.spec(spec, soup: soup).count($0) }
    }

    /// Returns the number of rows that a smart query returns.
    ///
    /// - Throws: As ``query(_:)-(SmartQuery)``.
    public func count(_ query: SmartQuery) async throws(CofferError) -> Int {
        try await read { try SoupQuery.smart(query).count($0) }
    }

    /// Returns SQLite's query plan for finding the entries, one line per step. The plan shows whether SQLite
    /// uses an index.
    ///
    /// - Throws: As ``query(_:in:)``.
    public func explain(_ spec: QuerySpec, in soup: String) async throws(CofferError) -> [String] {
        try await read { try SoupQuery.spec(spec, soup: soup).plan($0) }
    }

    /// Returns SQLite's query plan for a smart query, one line per step.
    ///
    /// - Throws: As ``query(_:)-(SmartQuery)``.
    public func explain(_ query: SmartQuery) async throws(CofferError) -> [String] {
        try await read { try SoupQuery.smart(query).plan($0) }
    }

    /// Returns the documents that a query finds, one after the other, without paging.
    ///
    /// The set of entries is fixed when the first one is read. Documents are read when the iteration reaches
    /// them, and entries removed by then are left out. Entries may therefore be removed and changed during
    /// the iteration.
    ///
    /// - Parameters:
    ///   - spec: The query; its page size is the number of documents read at a time.
    ///   - soup: The soup.
    /// - Returns: The sequence. Iterating over it throws the errors of ``query(_:in:)``.
    public func entries(matching spec: QuerySpec = .all(pageSize: 100), in soup: String) -> SoupEntries {
        SoupEntries(store: self, spec: spec, soup: soup)
    }

    /// Returns all rows that a smart query finds, one after the other. The rows are read page by page: when
    /// rows are inserted or removed during the iteration, others move between pages and may be skipped or
    /// repeated.
    ///
    /// - Parameter query: The query.
    /// - Returns: The sequence. Iterating over it throws the errors of ``query(_:)-(SmartQuery)``.
    public func rows(of query: SmartQuery) -> SoupRows { SoupRows(store: self, query: query) }
}
