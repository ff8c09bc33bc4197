public import CofferBase
import GRDB

/// Methods that find entries.
extension SoupStore {
    /// Finds entries in a soup and returns a cursor on the first page of their documents.
    ///
    /// - Throws: `absent` if the soup does not exist; `invalidInput` if a path lacks the index that the query
    ///   needs, no value in the index could equal the key, the page size is below 1, or the FTS5 expression
    ///   is not valid.
    public func query(_ spec: QuerySpec, in soup: String) async throws(CofferError) -> SoupCursor {
        try await SoupCursor.open(.spec(spec, soup: soup), in: self)
    }

    /// Runs a smart query and returns a cursor on the first page of its rows. A row is an array with a value
    /// for each column. A column named `_soup` holds documents; to get their text, rename the column.
    ///
    /// - Throws: `absent` if the query uses a soup that does not exist; `invalidInput` if a path has no
    ///   index, SQLite cannot parse the SQL, the query writes, the arguments do not match the placeholders,
    ///   or the page size is below 1.
    public func query(_ query: SmartQuery) async throws(CofferError) -> SoupCursor {
        try await SoupCursor.open(.smart(query), in: self)
    }

    /// Returns the number of entries that a query finds.
    ///
    /// - Throws: The errors of ``query(_:in:)``.
    public func count(_ spec: QuerySpec = .all(), in soup: String) async throws(CofferError) -> Int {
        try await read { try SoupQuery.spec(spec, soup: soup).count($0) }
    }

    /// Returns the number of rows that a smart query returns. SQLite may leave out columns that it does not
    /// need for the count; errors that only their values would cause are then not thrown.
    ///
    /// - Throws: The errors of ``query(_:)-(SmartQuery)``.
    public func count(_ query: SmartQuery) async throws(CofferError) -> Int {
        try await read { try SoupQuery.smart(query).count($0) }
    }

    /// Returns SQLite's query plan for finding the entries, one line per step. The plan shows whether SQLite
    /// uses an index.
    ///
    /// - Throws: The errors of ``query(_:in:)``.
    public func explain(_ spec: QuerySpec, in soup: String) async throws(CofferError) -> [String] {
        try await read { try SoupQuery.spec(spec, soup: soup).plan($0) }
    }

    /// Returns SQLite's query plan for a smart query, one line per step.
    ///
    /// - Throws: The errors of ``query(_:)-(SmartQuery)``.
    public func explain(_ query: SmartQuery) async throws(CofferError) -> [String] {
        try await read { try SoupQuery.smart(query).plan($0) }
    }

    /// Returns the documents that a query finds, one after the other, without a cursor.
    ///
    /// The set of entries is fixed when the first one is read. Documents are read when the iteration reaches
    /// them, and entries removed by then are left out. Entries may therefore be removed and changed during
    /// the iteration.
    ///
    /// - Parameters:
    ///   - spec: The query; its page size is the number of documents read at a time.
    ///   - soup: The name of the soup.
    /// - Returns: The sequence. Iterating over it throws the errors of ``query(_:in:)``.
    public func entries(matching spec: QuerySpec = .all(pageSize: 100), in soup: String) -> SoupEntries {
        SoupEntries(store: self, spec: spec, soup: soup)
    }

    /// Returns all rows that a smart query finds, one after the other. The rows are read page by page: when
    /// rows are inserted or removed during the iteration, other rows move between pages and may be skipped or
    /// repeated.
    ///
    /// - Parameter query: The smart query to run.
    /// - Returns: The sequence. Iterating over it throws the errors of ``query(_:)-(SmartQuery)``.
    public func rows(of query: SmartQuery) -> SoupRows { SoupRows(store: self, query: query) }
}
