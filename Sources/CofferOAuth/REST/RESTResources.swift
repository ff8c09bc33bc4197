public import CofferBase
public import CofferCrypto

/// The resources of Salesforce's REST interface, as requests. There is no model of the objects: bodies and
/// answers are JSON that the program reads and writes itself.
///
/// A path consists of names that are checked and values that are percent-encoded, so that no value changes
/// the path or the query.
public struct RESTResources: Sendable, Hashable {
    /// The server, such as `https://na1.salesforce.com`.
    public let instance: HTTPSURL
    /// The version of the interface, such as `59.0`.
    public let version: String

    /// Creates the table of a server.
    ///
    /// - Parameters:
    ///   - instance: The server: a URL without a query, whose path is empty or `/`.
    ///   - version: The version of the interface, such as `59.0`.
    /// - Throws: `invalidInput` if `version` is not digits, a point and digits, or if the URL has a path or a
    ///   query.
    public init(instance: HTTPSURL, version: String) throws(CofferError) {
        guard WireText.isVersion(version) else {
            throw CofferError(.invalidInput, "The version must be digits with a point between them.")
        }
        guard instance.query == nil, instance.path.utf8.isEmpty || instance.path.utf8.elementsEqual("/".utf8)
        else { throw CofferError(.invalidInput, "The URL of a server must not have a path or a query.") }
        self.instance = instance
        self.version = version
    }

    /// A user object whose password can be managed.
    public enum UserObject: String, Sendable, Hashable {
        /// A user.
        case user = "User"
        /// A user of a self-service portal.
        case selfServiceUser = "SelfServiceUser"
    }

    // MARK: The service

    /// The versions that the server offers. The request needs no token.
    public func versions() throws(CofferError) -> OAuthRequest { try request(.get, "/services/data/") }

    /// The resources of this version.
    public func resources() throws(CofferError) -> OAuthRequest { try request(.get, base + "/") }

    /// The objects that are available.
    public func describeGlobal() throws(CofferError) -> OAuthRequest {
        try request(.get, base + "/sobjects/")
    }

    /// The answer to a SOQL query. The query is percent-encoded as a whole.
    public func query(_ soql: String) throws(CofferError) -> OAuthRequest {
        try request(.get, base + "/query/", [(name: "q", value: soql)])
    }

    /// The answer to a SOSL search. The search is percent-encoded as a whole.
    public func search(_ sosl: String) throws(CofferError) -> OAuthRequest {
        try request(.get, base + "/search/", [(name: "s", value: sosl)])
    }

    // MARK: Objects and rows

    /// The basic information about an object.
    public func information(_ object: String) throws(CofferError) -> OAuthRequest {
        try request(.get, objectPath(object) + "/")
    }

    /// The complete description of an object.
    public func describe(_ object: String) throws(CofferError) -> OAuthRequest {
        try request(.get, objectPath(object) + "/describe/")
    }

    /// Creates a row.
    ///
    /// - Parameters:
    ///   - object: The object's name.
    ///   - fields: The row's fields as a JSON object.
    /// - Returns: The request.
    /// - Throws: `invalidInput` if the name is not letters, digits and underscores.
    public func create(
        _ object: String, fields: consuming SecretBytes
    ) throws(CofferError) -> OAuthRequest {
        try OAuthRequest(.post, url(objectPath(object) + "/"), body: fields)
    }

    /// Retrieves a row.
    ///
    /// - Parameters:
    ///   - object: The object's name.
    ///   - id: The row's id.
    ///   - fields: The fields to retrieve; empty for all.
    /// - Returns: The request.
    /// - Throws: `invalidInput` if a name or the id has a character that names and ids do not have.
    public func retrieve(
        _ object: String, id: String, fields: [String] = []
    ) throws(CofferError) -> OAuthRequest {
        for field in fields { try Self.requirePath(field) }
        let list = fields.joined(separator: ",")
        return try request(
            .get, rowPath(object, id), fields.isEmpty ? [] : [(name: "fields", value: list)])
    }

    /// Updates a row.
    ///
    /// - Parameters:
    ///   - object: The object's name.
    ///   - id: The row's id.
    ///   - fields: The fields to change as a JSON object.
    /// - Returns: The request.
    /// - Throws: `invalidInput` if the name or the id has a character that names and ids do not have.
    public func update(
        _ object: String, id: String, fields: consuming SecretBytes
    ) throws(CofferError) -> OAuthRequest {
        try OAuthRequest(.patch, url(rowPath(object, id)), body: fields)
    }

    /// Deletes a row.
    public func delete(_ object: String, id: String) throws(CofferError) -> OAuthRequest {
        try request(.delete, rowPath(object, id))
    }

    /// Updates the row with an external id, or creates it.
    ///
    /// - Parameters:
    ///   - object: The object's name.
    ///   - field: The name of the field that contains the external id.
    ///   - value: The external id, which is percent-encoded.
    ///   - fields: The row's fields as a JSON object.
    /// - Returns: The request.
    /// - Throws: `invalidInput` if a name has a character that names do not have, or if the external id is
    ///   empty or would be a dot segment of the path.
    public func upsert(
        _ object: String, field: String, value: String, fields: consuming SecretBytes
    ) throws(CofferError) -> OAuthRequest {
        try Self.requireName(field)
        guard !value.utf8.isEmpty else { throw CofferError(.invalidInput, "The external id is empty.") }
        let path = try objectPath(object) + "/\(field)/" + FormEncoding.percentEncoded(value)
        return try OAuthRequest(.patch, url(path), body: fields)
    }

    /// Downloads a blob field. Send the request with a ``DownloadSink``.
    public func blob(_ object: String, id: String, field: String) throws(CofferError) -> OAuthRequest {
        try Self.requireName(field)
        return try request(.get, rowPath(object, id) + "/" + field)
    }

    // MARK: Passwords

    /// Information about a user's password.
    public func passwordInformation(_ object: UserObject, id: String) throws(CofferError) -> OAuthRequest {
        try request(.get, passwordPath(object, id))
    }

    /// Sets a user's password.
    ///
    /// - Parameters:
    ///   - object: The kind of user.
    ///   - id: The user's id.
    ///   - body: The JSON object with the new password.
    /// - Returns: The request.
    /// - Throws: `invalidInput` if the id is not 15 or 18 letters and digits.
    public func setPassword(
        _ object: UserObject, id: String, body: consuming SecretBytes
    ) throws(CofferError) -> OAuthRequest {
        try OAuthRequest(.post, url(passwordPath(object, id)), body: body)
    }

    /// Replaces a user's password by one that the server chooses.
    public func resetPassword(_ object: UserObject, id: String) throws(CofferError) -> OAuthRequest {
        try request(.delete, passwordPath(object, id))
    }
}

extension RESTResources {
    private var base: String { "/services/data/v" + version }

    private func url(_ path: String) throws(CofferError) -> HTTPSURL {
        try HTTPSURL(instance.origin + path)
    }

    private func request(
        _ method: HTTPRequest.Method, _ path: String, _ query: [(name: String, value: String)] = []
    ) throws(CofferError) -> OAuthRequest {
        try OAuthRequest(method, url(path).appending(query: query))
    }

    private func objectPath(_ object: String) throws(CofferError) -> String {
        try Self.requireName(object)
        return base + "/sobjects/" + object
    }

    private func rowPath(_ object: String, _ id: String) throws(CofferError) -> String {
        guard [15, 18].contains(id.utf8.count), id.utf8.allSatisfy(Self.isAlphanumeric) else {
            throw CofferError(.invalidInput, "An id must be 15 or 18 letters and digits.")
        }
        return try objectPath(object) + "/" + id
    }

    private func passwordPath(_ object: UserObject, _ id: String) throws(CofferError) -> String {
        try rowPath(object.rawValue, id) + "/password"
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    private static func requireName(_ name: String) throws(CofferError) {
        let isName = name.utf8.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "_") }
        guard isName, (1...255).contains(name.utf8.count) else {
            throw CofferError(.invalidInput, "A name must be letters, digits and underscores.")
        }
    }

    /// Checks the name of a field, which may belong to a related row: names with points between them.
    private static func requirePath(_ path: String) throws(CofferError) {
        for name in path.parts(between: ".", keepsEmpty: true) { try requireName(name) }
    }
}
