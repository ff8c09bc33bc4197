public import CofferBase
import GRDB

/// Methods that insert entries, retrieve them by id, and remove them.
extension SoupStore {
    /// Puts documents into a soup: all of them or, after an error, none.
    ///
    /// A document with the `_soupEntryId` of an existing entry replaces that entry. Any other document
    /// becomes a new entry, and its `_soupEntryId` is overwritten. With `externalIDPath`, the entry with the
    /// same value at that path is replaced instead, if there is one. The store sets `_soupCreatedDate` and
    /// `_soupLastModifiedDate`, whatever values the document has.
    ///
    /// - Parameters:
    ///   - documents: JSON objects.
    ///   - soup: The name of the soup.
    ///   - externalIDPath: An indexed path, not a full-text one, that holds the id assigned by another
    ///     system.
    /// - Returns: The documents as they are now stored, in the same order.
    /// - Throws: `absent` if the soup does not exist; `invalidInput` if a value is not an object, a number is
    ///   not finite, a document is nested too deeply, the path has no index, or a document has no value or an
    ///   empty text at that path; `ambiguous` if several entries have the same external id.
    @discardableResult
    public func upsert(
        _ documents: [JSONValue], in soup: String, externalIDPath: String? = nil
    ) async throws(CofferError) -> [JSONValue] {
        let now = now
        return try await write { db in
            let layout = try SoupCatalog.require(soup, db)
            let external = try externalIDPath.flatMap { path in
                path == SoupField.entryID ? nil : try ExternalID(path, layout)
            }
            let writer = try EntryWriter(db, layout)
            var last = try writer.lastID()
            return try documents.map { document in
                guard case .object(var fields) = document else {
                    throw CofferError(.invalidInput, "A soup entry must be a JSON object.")
                }
                let known = try external?.find(document, db) ?? (external == nil ? document.soupEntryID : nil)
                let created = try known.flatMap { try writer.created($0) }
                if created == nil { last += 1 }
                let id = created == nil ? last : known ?? last
                fields[SoupField.entryID] = .integer(id)
                fields[SoupField.created] = .integer(created ?? now)
                fields[SoupField.lastModified] = .integer(now)
                let stored = JSONValue.object(fields)
                if created == nil {
                    let dates = EntryWriter.Dates(created: now, lastModified: now, lastViewed: now)
                    try writer.insert(stored, id: id, dates)
                } else {
                    try writer.update(stored, id: id, lastModified: now)
                }
                return stored
            }
        }
    }

    /// Returns the documents with these ids, in the order of the ids; ids without an entry are left out.
    ///
    /// - Throws: `absent` if the soup does not exist.
    public func retrieve(_ ids: [Int64], from soup: String) async throws(CofferError) -> [JSONValue] {
        let texts = try await read { db in
            let table = try SoupCatalog.require(soup, db).table
            let statement = try db.cachedStatement(
                sql: "SELECT \(SoupField.document) FROM \(table) WHERE \(SoupField.entryID) = ?")
            return try ids.compactMap { try String.fetchOne(statement, arguments: [$0]) }
        }
        return try documents(texts)
    }

    /// Returns the id of the entry that has `value` at `path`.
    ///
    /// - Parameters:
    ///   - soup: The name of the soup.
    ///   - path: An indexed path, not a full-text one.
    ///   - value: The value at that path; `null` finds an entry without a value.
    /// - Returns: The id of the entry; `nil` if no entry has the value.
    /// - Throws: `absent` if the soup does not exist; `invalidInput` if the path has no index; `ambiguous` if
    ///   several entries have the value.
    public func lookupEntryID(
        in soup: String, path: String, value: JSONValue
    ) async throws(CofferError) -> Int64? {
        try await read { db in
            try ExternalID(path, try SoupCatalog.require(soup, db)).find(value: value, db)
        }
    }

    /// Removes entries by id. Returns the number of removed entries.
    ///
    /// - Throws: `absent` if the soup does not exist.
    @discardableResult
    public func remove(_ ids: [Int64], from soup: String) async throws(CofferError) -> Int {
        try await write { db in
            let table = try SoupCatalog.require(soup, db).table
            let statement = try db.cachedStatement(
                sql: "DELETE FROM \(table) WHERE \(SoupField.entryID) = ?")
            var removed = 0
            for id in ids {
                try statement.execute(arguments: [id])
                removed += db.changesCount
            }
            return removed
        }
    }

    /// Removes all entries that a query finds, whatever its page size. Returns the number of removed entries.
    ///
    /// - Throws: `absent` if the soup does not exist; `invalidInput` under the same conditions as in
    ///   ``query(_:in:)``.
    @discardableResult
    public func remove(matching spec: QuerySpec, from soup: String) async throws(CofferError) -> Int {
        try await write { db in
            let layout = try SoupCatalog.require(soup, db)
            let ids = try SoupSelection(spec, layout).ids
            try db.execute(
                sql: "DELETE FROM \(layout.table) WHERE \(SoupField.entryID) IN (\(ids.sql))",
                arguments: StatementArguments(ids.arguments))
            return db.changesCount
        }
    }

    /// Records that the user viewed entries. ``retain(_:in:)`` uses this record to determine which entries to
    /// remove. The documents do not change.
    ///
    /// - Parameters:
    ///   - ids: The ids of the entries; ids without an entry are ignored.
    ///   - soup: The name of the soup.
    /// - Returns: The number of ids that have an entry.
    /// - Throws: `absent` if the soup does not exist.
    @discardableResult
    public func markViewed(_ ids: [Int64], in soup: String) async throws(CofferError) -> Int {
        let now = now
        return try await write { db in
            let table = try SoupCatalog.require(soup, db).table
            let statement = try db.cachedStatement(
                sql: "UPDATE \(table) SET \(SoupField.lastViewed) = ? WHERE \(SoupField.entryID) = ?")
            var marked = 0
            for id in ids {
                try statement.execute(arguments: [now, id])
                marked += db.changesCount
            }
            return marked
        }
    }

    func documents(_ texts: [String]) throws(CofferError) -> [JSONValue] {
        var documents: [JSONValue] = []
        documents.reserveCapacity(texts.count)
        for text in texts { documents.append(try JSONValue(stored: text)) }
        return documents
    }
}

/// A path whose values identify a soup's entries.
private struct ExternalID {
    private let layout: SoupLayout
    private let index: SoupIndex

    init(_ path: String, _ layout: SoupLayout) throws {
        self.layout = layout
        index = try layout.index(on: path)
        guard index.spec.kind != .fullText else {
            throw CofferError(.invalidInput, "A full-text index cannot identify entries.")
        }
    }

    /// Returns the id of the entry with the document's external id.
    func find(_ document: JSONValue, _ db: Database) throws -> Int64? {
        let value = index.path.project(document, throughArrays: index.column != nil) ?? .null
        let key = try index.column == nil ? index.key(value) : index.columnValue(of: document)
        guard !key.isNull, value != .string("") else {
            throw CofferError(
                .invalidInput, "A document has no external id at \(CofferError.quoted(index.spec.path)).")
        }
        return try find(key: key, db)
    }

    func find(value: JSONValue, _ db: Database) throws -> Int64? { try find(key: try index.key(value), db) }

    private func find(key: DatabaseValue, _ db: Database) throws -> Int64? {
        let expression = try index.expression(in: nil)
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(SoupField.entryID) FROM \(layout.table)
                WHERE \(expression) IS \(index.keyPlaceholder) LIMIT 2
                """)
        let found = try Int64.fetchAll(statement, arguments: [key])
        guard found.count < 2 else {
            throw CofferError(
                .ambiguous, "Several entries have the same value at \(CofferError.quoted(index.spec.path)).")
        }
        return found.first
    }
}
