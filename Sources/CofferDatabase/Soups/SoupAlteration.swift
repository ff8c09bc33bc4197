public import CofferBase
import GRDB

/// Methods that change the indexes of a soup that has entries.
extension SoupStore {
    /// Replaces the indexes of a soup and fills the new ones from its entries.
    ///
    /// The method works in many short transactions, between which other connections can read and write the
    /// soup using the old indexes. An alteration interrupted by an error, a cancelled task or the end of the
    /// process resumes when the store is next opened or the soup is altered again. All new indexes take
    /// effect at the same time, in the last transaction.
    ///
    /// - Parameters:
    ///   - name: The name of the soup.
    ///   - indexSpecs: All indexes that the soup is to have. If these equal the present indexes, in any
    ///     order, the method does nothing.
    /// - Throws: `absent` if the soup does not exist; `invalidInput` under the same conditions as in
    ///   ``registerSoup(_:indexSpecs:)``; `busy` if another task or process begins to alter the soup at the
    ///   same time.
    public func alterSoup(_ name: String, indexSpecs: [IndexSpec]) async throws(CofferError) {
        _ = try SoupLayout.indexes(indexSpecs)
        try await change(name) { (layout, db) in
            guard !layout.hasIndexes(indexSpecs) else { return nil }
            return ResumableOperation(
                soup: layout.id, kind: .alter, storage: try SoupCatalog.newStorage(db), specs: indexSpecs,
                progress: 0)
        }
    }

    /// Rebuilds a soup's indexes from its entries. An interrupted call resumes in the same way as
    /// ``alterSoup(_:indexSpecs:)``.
    ///
    /// - Parameters:
    ///   - name: The name of the soup.
    ///   - paths: The paths of the indexes to rebuild; `nil` for all indexes.
    /// - Throws: `absent` if the soup does not exist; `invalidInput` if a path is not one of the soup's
    ///   indexes; `busy` if another task or process begins to alter the soup at the same time.
    public func reindexSoup(_ name: String, paths: [String]? = nil) async throws(CofferError) {
        try await change(name) { (layout, _) in
            let indexes = try paths.map { paths in try paths.map { try layout.index(on: $0) } }
            let specs = (indexes ?? layout.indexes).map(\.spec)
            return ResumableOperation(
                soup: layout.id, kind: .reindex, storage: layout.storage, specs: specs, progress: 0)
        }
    }

    private func change(
        _ name: String,
        _ make: @escaping @Sendable (SoupLayout, Database) throws -> ResumableOperation?
    ) async throws(CofferError) {
        let soup = try await read { try SoupCatalog.require(name, $0).id }
        try await finishOperation(on: soup)
        let isBegun = try await write { db in
            let layout = try SoupCatalog.require(name, db)
            guard try ResumableOperation.find(soup: layout.id, db) == nil else {
                throw CofferError(
                    .busy, "The soup \(CofferError.quoted(name)) is already being altered. Try again later.")
            }
            guard let operation = try make(layout, db) else { return false }
            try operation.begin(layout, db)
            return true
        }
        guard isBegun else { return }
        try checkpoint(.begun)
        try await finishOperation(on: soup)
    }

    /// Resumes interrupted operations.
    func finishOperations() async throws(CofferError) {
        for soup in try await read({ try ResumableOperation.all($0) }) { try await finishOperation(on: soup) }
    }

    private func finishOperation(on soup: Int64) async throws(CofferError) {
        while let step = try await write({ try ResumableOperation.find(soup: soup, $0)?.step($0) }) {
            try checkpoint(step)
            if step == .finished { return }
        }
    }
}
