public import CofferBase

/// A place in the results of a query, which shows one page of them.
///
/// A cursor holds the query and its place, not the results: every move asks anew and sees what was changed in
/// the meantime. One task moves a cursor at a time.
public actor SoupCursor {
    private let store: SoupStore
    private let query: SoupQuery
    private var isClosed = false

    /// The page that is shown, counted from 0.
    public private(set) var pageIndex = 0

    /// How many rows there were at the last move.
    public private(set) var totalEntries: Int

    /// The rows of the page: documents, or the arrays of a smart query.
    public private(set) var currentPage: [JSONValue]

    /// How many rows a page has; the last may have fewer.
    public nonisolated var pageSize: Int { query.pageSize }

    /// How many pages there were at the last move.
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

    /// Shows the next page, where there is one; gives whether there was.
    ///
    /// - Throws: `refused` when the cursor is closed; `absent` when the soup is gone.
    @discardableResult
    public func moveToNextPage() async throws(CofferError) -> Bool { try await move(to: pageIndex + 1) }

    /// Shows the page before, where there is one; gives whether there was.
    ///
    /// - Throws: `refused` when the cursor is closed; `absent` when the soup is gone.
    @discardableResult
    public func moveToPreviousPage() async throws(CofferError) -> Bool { try await move(to: pageIndex - 1) }

    /// Shows the page at `index`. Page 0 is there even when it is empty.
    ///
    /// - Throws: `invalidInput` when there is no such page; `refused` when the cursor is closed; `absent`
    ///   when the soup is gone.
    public func moveToPage(_ index: Int) async throws(CofferError) {
        guard try await move(to: index) else {
            throw CofferError(.invalidInput, "There are \(totalPages) pages, counted from 0; not \(index).")
        }
    }

    /// Ends the cursor: it shows nothing and does not move any more.
    public func close() {
        isClosed = true
        currentPage = []
        totalEntries = 0
        pageIndex = 0
    }

    /// Moves if there is such a page; otherwise only `totalEntries` changes.
    private func move(to index: Int) async throws(CofferError) -> Bool {
        guard !isClosed else { throw CofferError(.refused, "The cursor is closed.") }
        guard index >= 0 else { return false }
        let query = query
        let page = try await store.read { try query.page(index, $0) }
        guard !isClosed else { throw CofferError(.refused, "The cursor is closed.") }
        totalEntries = page.totalEntries
        guard index < max(totalPages, 1) else { return false }
        currentPage = try Self.values(page)
        pageIndex = index
        return true
    }
}
