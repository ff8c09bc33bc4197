public import CofferBase

/// Entries as values of your own types.
extension SoupStore {
    /// Puts a value into a soup; gives the id of its entry.
    ///
    /// A value that encodes a `_soupEntryId` replaces that entry, as ``upsert(_:in:externalIDPath:)`` says.
    ///
    /// - Parameters:
    ///   - value: What encodes to a JSON object. Dates become milliseconds since 1970.
    ///   - soup: The soup.
    ///   - externalIDPath: An indexed path with an id of your own: what has the same there is replaced.
    /// - Returns: The id.
    /// - Throws: `invalidInput` for not-a-number and what has no JSON form; otherwise as
    ///   ``upsert(_:in:externalIDPath:)``.
    @discardableResult
    public func put(
        _ value: some Encodable, in soup: String, externalIDPath: String? = nil
    ) async throws(CofferError) -> Int64 {
        let document = try JSONValue(encoding: value)
        return try await ids(of: [document], soup, externalIDPath)[0]
    }

    /// Puts values into a soup, all of them or after an error none; gives the ids of their entries.
    ///
    /// - Throws: As ``put(_:in:externalIDPath:)``.
    @discardableResult
    public func putAll(
        _ values: [some Encodable], in soup: String, externalIDPath: String? = nil
    ) async throws(CofferError) -> [Int64] {
        var documents: [JSONValue] = []
        for value in values { documents.append(try JSONValue(encoding: value)) }
        return try await ids(of: documents, soup, externalIDPath)
    }

    /// The values that a query finds, all at once.
    ///
    /// - Parameters:
    ///   - type: What the entries are decoded as.
    ///   - soup: The soup.
    ///   - spec: The query; `nil` for every entry.
    /// - Returns: The values, in the query's order.
    /// - Throws: `invalidInput` when an entry is no `Value`; otherwise as ``query(_:in:)``.
    public func all<Value: Decodable>(
        _ type: Value.Type, in soup: String, matching spec: QuerySpec = .all()
    ) async throws(CofferError) -> [Value] {
        let texts = try await read { db in
            let selection = try SoupSelection(spec, try SoupCatalog.require(soup, db)).documents
            return try SoupQuery.texts(selection, db)
        }
        var values: [Value] = []
        for text in texts { values.append(try JSONReader.stored(text).decoded(as: type)) }
        return values
    }

    /// The value of one entry; `nil` when there is none with this id.
    ///
    /// - Throws: `absent` when there is no such soup; `invalidInput` when the entry is no `Value`.
    public func entry<Value: Decodable>(
        _ type: Value.Type, id: Int64, in soup: String
    ) async throws(CofferError) -> Value? {
        try await retrieve([id], from: soup).first?.decoded(as: type)
    }

    private func ids(
        of documents: [JSONValue], _ soup: String, _ externalIDPath: String?
    ) async throws(CofferError) -> [Int64] {
        try await upsert(documents, in: soup, externalIDPath: externalIDPath).compactMap(\.soupEntryID)
    }
}
