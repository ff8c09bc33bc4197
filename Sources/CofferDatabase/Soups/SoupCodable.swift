public import CofferBase

/// Methods that store and retrieve entries as values of your own types.
extension SoupStore {
    /// Puts a value into a soup and returns the id of its entry.
    ///
    /// A value that encodes a `_soupEntryId` replaces the entry with that id, as in
    /// ``upsert(_:in:externalIDPath:)``.
    ///
    /// - Parameters:
    ///   - value: A value that encodes to a JSON object. Dates become milliseconds since 1970.
    ///   - soup: The name of the soup.
    ///   - externalIDPath: The indexed path to an id of your own; the value replaces the entry that has the
    ///     same id at this path.
    /// - Returns: The id of the entry.
    /// - Throws: `invalidInput` if the value contains NaN or infinity or has no JSON form; also the errors of
    ///   ``upsert(_:in:externalIDPath:)``.
    @discardableResult
    public func put(
        _ value: some Encodable, in soup: String, externalIDPath: String? = nil
    ) async throws(CofferError) -> Int64 {
        let document = try JSONValue(encoding: value)
        return try await ids(of: [document], soup, externalIDPath)[0]
    }

    /// Puts values into a soup and returns the ids of their entries. After an error, no value has been
    /// stored.
    ///
    /// - Throws: The errors of ``put(_:in:externalIDPath:)``.
    @discardableResult
    public func putAll(
        _ values: [some Encodable], in soup: String, externalIDPath: String? = nil
    ) async throws(CofferError) -> [Int64] {
        var documents: [JSONValue] = []
        for value in values { documents.append(try JSONValue(encoding: value)) }
        return try await ids(of: documents, soup, externalIDPath)
    }

    /// Returns all values that a query finds, in one array.
    ///
    /// - Parameters:
    ///   - type: The type to decode the entries as.
    ///   - soup: The name of the soup.
    ///   - spec: The query; by default, it finds every entry.
    /// - Returns: The values, in the query's order.
    /// - Throws: `invalidInput` if an entry does not decode as `Value`; also the errors of ``query(_:in:)``.
    public func all<Value: Decodable>(
        _ type: Value.Type, in soup: String, matching spec: QuerySpec = .all()
    ) async throws(CofferError) -> [Value] {
        let texts = try await read { db in
            let selection = try SoupSelection(spec, try SoupCatalog.require(soup, db)).documents
            return try SoupQuery.texts(selection, db)
        }
        var values: [Value] = []
        for text in texts { values.append(try JSONValue(stored: text).decoded(as: type)) }
        return values
    }

    /// Returns the value of the entry with this id; `nil` if there is no such entry.
    ///
    /// - Throws: `absent` if the soup does not exist; `invalidInput` if the entry does not decode as `Value`.
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
