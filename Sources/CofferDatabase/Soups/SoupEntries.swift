public import CofferBase

/// The documents that a query finds, as a sequence: see ``SoupStore/entries(matching:in:)``.
public struct SoupEntries: AsyncSequence, Sendable {
    /// A document.
    public typealias Element = JSONValue
    /// The error that reading throws.
    public typealias Failure = CofferError

    let store: SoupStore
    let spec: QuerySpec
    let soup: String

    /// Returns an iterator that begins at the first document.
    public func makeAsyncIterator() -> Iterator { Iterator(store: store, spec: spec, soup: soup) }

    /// Iterates over the documents.
    public struct Iterator: AsyncIteratorProtocol {
        /// A document.
        public typealias Element = JSONValue
        /// The error that reading throws.
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
        /// - Throws: As ``SoupStore/query(_:in:)``.
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
