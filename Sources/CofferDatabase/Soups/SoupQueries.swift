public import CofferBase
import GRDB

/// Finding entries.
extension SoupStore {
    /// Finds entries of a soup; gives a cursor on the first page of their documents.
    ///
    /// - Throws: `absent` when there is no such soup; `invalidInput` for a path without the index that the
    ///   query needs, a key that no value of the index could equal, a page size below 1 and an expression
    ///   that FTS5 does not understand.
    public func query(_ spec: QuerySpec, in soup: String) async throws(CofferError) -> SoupCursor {
        try await SoupCursor.open(.spec(spec, soup: soup), in: self)
    }

    /// Runs a smart query; gives a cursor on the first page of its rows. A row is an array with a value for
    /// each column. A column named `_soup` holds documents; give it another name to get their text.
    ///
    /// - Throws: `absent` when it names a soup that does not exist; `invalidInput` for a path without index,
    ///   what SQLite does not understand, a query that writes, arguments that do not fit and a page size
    ///   below 1.
    public func query(_ query: SmartQuery) async throws(CofferError) -> SoupCursor {
        try await SoupCursor.open(.smart(query), in: self)
    }

    /// How many entries a query finds.
    ///
    /// - Throws: As ``query(_:in:)``.
    public func count(_ spec: QuerySpec = .all(), in soup: String) async throws(CofferError) -> Int {
        try await read { try SoupQuery.spec(spec, soup: soup).count($0) }
    }

    /// How many rows a smart query gives.
    ///
    /// - Throws: As ``query(_:)-(SmartQuery)``.
    public func count(_ query: SmartQuery) async throws(CofferError) -> Int {
        try await read { try SoupQuery.smart(query).count($0) }
    }

    /// How SQLite would find the entries, one line a step: whether it uses an index, above all.
    ///
    /// - Throws: As ``query(_:in:)``.
    public func explain(_ spec: QuerySpec, in soup: String) async throws(CofferError) -> [String] {
        try await read { try SoupQuery.spec(spec, soup: soup).plan($0) }
    }

    /// How SQLite would run a smart query, one line a step.
    ///
    /// - Throws: As ``query(_:)-(SmartQuery)``.
    public func explain(_ query: SmartQuery) async throws(CofferError) -> [String] {
        try await read { try SoupQuery.smart(query).plan($0) }
    }

    /// The documents that a query finds, one after the other, without pages to think of.
    ///
    /// Which entries there are is settled at the first one; their documents are read as they are reached, and
    /// entries that were removed by then are left out. So entries may be removed and changed on the way.
    ///
    /// - Parameters:
    ///   - spec: The query; its page size is how many documents are read at once.
    ///   - soup: The soup.
    /// - Returns: The sequence. Its iteration throws as ``query(_:in:)``.
    public func entries(matching spec: QuerySpec = .all(pageSize: 100), in soup: String) -> SoupEntries {
        SoupEntries(store: self, spec: spec, soup: soup)
    }

    /// All rows of a smart query, one after the other, page by page: rows move between pages when others are
    /// put in or removed on the way.
    ///
    /// - Parameter query: The query.
    /// - Returns: The sequence. Its iteration throws as ``query(_:)-(SmartQuery)``.
    public func rows(of query: SmartQuery) -> SoupRows { SoupRows(store: self, query: query) }
}
