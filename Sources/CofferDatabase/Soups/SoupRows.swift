public import CofferBase

/// An asynchronous sequence of a smart query's rows, returned by ``SoupStore/rows(of:)``.
public struct SoupRows: AsyncSequence, Sendable {
    /// The type of the elements: a row, with a value for each column.
    public typealias Element = [JSONValue]
    /// The type of the errors that iteration throws.
    public typealias Failure = CofferError

    let store: SoupStore
    let query: SmartQuery

    /// Returns an iterator that begins at the first row.
    public func makeAsyncIterator() -> Iterator { Iterator(store: store, query: query) }

    /// An iterator over the rows.
    public struct Iterator: AsyncIteratorProtocol {
        /// The type of the elements: a row, with a value for each column.
        public typealias Element = [JSONValue]
        /// The type of the errors that iteration throws.
        public typealias Failure = CofferError

        private let store: SoupStore
        private let query: SmartQuery
        private var cursor: SoupCursor?
        private var rows: ArraySlice<JSONValue> = []

        init(store: SoupStore, query: SmartQuery) {
            self.store = store
            self.query = query
        }

        /// Returns the next row; `nil` after the last.
        ///
        /// - Throws: The errors of ``SoupStore/query(_:)-(SmartQuery)``.
        public mutating func next() async throws(CofferError) -> [JSONValue]? {
            if rows.isEmpty {
                if let cursor {
                    guard try await cursor.moveToNextPage() else { return nil }
                    rows = await cursor.currentPage[...]
                } else {
                    let opened = try await store.query(query)
                    rows = await opened.currentPage[...]
                    cursor = opened
                }
            }
            return rows.popFirst()?.array
        }
    }
}
