public import CofferBase

/// An asynchronous sequence of the documents that a query finds, returned by
/// ``SoupStore/entries(matching:in:)``.
public struct SoupEntries: AsyncSequence, Sendable {
    /// The type of the elements: a document.
    public typealias Element = JSONValue
    /// The type of the errors that iteration throws.
    public typealias Failure = CofferError

    let store: SoupStore
    let spec: QuerySpec
    let soup: String

    /// Returns an iterator that begins at the first document.
    public func makeAsyncIterator() -> Iterator { Iterator(store: store, spec: spec, soup: soup) }

    /// An iterator over the documents.
    public struct Iterator: AsyncIteratorProtocol {
        /// The type of the elements: a document.
        public typealias Element = JSONValue
        /// The type of the errors that iteration throws.
        public typealias Failure = CofferError

        let store: SoupStore
        let spec: QuerySpec
        let soup: String
        private var ids: ArraySlice<Int64>?
        private var documents: ArraySlice<JSONValue> = []

        init(store: SoupStore, spec: QuerySpec, soup: String) {
            self.store = store
            self.spec = spec
            self.soup = soup
        }

        /// Returns the next document; `nil` after the last.
        ///
        /// - Throws: The errors of ``SoupStore/query(_:in:)``.
        public mutating func next() async throws(CofferError) -> JSONValue? {
            let (spec, soup) = (spec, soup)
            if ids == nil {
                try SoupQuery.spec(spec, soup: soup).checkPageSize()
                ids = try await store.read { try SoupQuery.ids(spec, soup, $0) }[...]
            }
            while documents.isEmpty, let remaining = ids, !remaining.isEmpty {
                documents = try await store.retrieve(Array(remaining.prefix(spec.pageSize)), from: soup)[...]
                ids = remaining.dropFirst(spec.pageSize)
            }
            return documents.popFirst()
        }
    }
}
