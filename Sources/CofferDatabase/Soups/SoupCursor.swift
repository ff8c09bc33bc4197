public import CofferBase

/// A cursor over a query's results, which it reads one page at a time.
///
/// A cursor holds the query, its position and one page rather than all results. Every move runs the query
/// again and sees the changes made since the previous move. Only one task may move a cursor at a time.
public actor SoupCursor {
    private let store: SoupStore
    private let query: SoupQuery
    private var isClosed = false

    /// The index of the current page, counted from 0.
    public private(set) var pageIndex = 0

    /// The number of rows that the query found at the last move.
    public private(set) var totalEntries: Int

    /// The rows on the current page: documents or, for a smart query, arrays with a value for each column.
    public private(set) var currentPage: [JSONValue]

    /// The number of rows on a page; the last page may have fewer.
    public nonisolated var pageSize: Int { query.pageSize }

    /// The number of pages that the query filled at the last move.
    public var totalPages: Int { SoupQuery.pages(totalEntries, pageSize) }

    private init(_ store: SoupStore, _ query: SoupQuery, _ totalEntries: Int, _ rows: [JSONValue]) {
        self.store = store
        self.query = query
        self.totalEntries = totalEntries
        currentPage = rows
    }

    static func open(_ query: SoupQuery, in store: SoupStore) async throws(CofferError) -> SoupCursor {
        try query.checkPageSize()
        let page = try await store.read { try query.page(0, $0) }
        return SoupCursor(store, query, page.totalEntries, try values(page))
    }

    private static func values(_ page: SoupQuery.Page) throws(CofferError) -> [JSONValue] {
        var values: [JSONValue] = []
        for row in page.rows { values.append(try row.value()) }
        return values
    }

    /// Moves to the next page, if there is one. Returns whether the cursor moved.
    ///
    /// - Throws: `refused` if the cursor is closed; `absent` if the soup no longer exists.
    @discardableResult
    public func moveToNextPage() async throws(CofferError) -> Bool { try await move(to: pageIndex + 1) }

    /// Moves to the previous page, if there is one. Returns whether the cursor moved.
    ///
    /// - Throws: `refused` if the cursor is closed; `absent` if the soup no longer exists.
    @discardableResult
    public func moveToPreviousPage() async throws(CofferError) -> Bool { try await move(to: pageIndex - 1) }

    /// Moves to the page at `index`. Page 0 always exists, even when it is empty.
    ///
    /// - Throws: `invalidInput` if there is no such page; `refused` if the cursor is closed; `absent` if the
    ///   soup no longer exists.
    public func moveToPage(_ index: Int) async throws(CofferError) {
        guard try await move(to: index) else {
            throw CofferError(
                .invalidInput, "Page \(index) does not exist. There are \(totalPages) pages, counted from 0.")
        }
    }

    /// Closes the cursor and empties its page. Moving a closed cursor throws `refused`.
    public func close() {
        isClosed = true
        currentPage = []
        totalEntries = 0
        pageIndex = 0
    }

    /// Moves to the page at `index`, if it exists; otherwise, changes at most `totalEntries`. Returns whether
    /// the cursor moved.
    private func move(to index: Int) async throws(CofferError) -> Bool {
        guard !isClosed else { throw CofferError(.refused, "The cursor is closed. Run the query again.") }
        guard index >= 0 else { return false }
        let query = query
        let page = try await store.read { try query.page(index, $0) }
        guard !isClosed else { throw CofferError(.refused, "The cursor is closed. Run the query again.") }
        totalEntries = page.totalEntries
        guard index < max(totalPages, 1) else { return false }
        currentPage = try Self.values(page)
        pageIndex = index
        return true
    }
}
