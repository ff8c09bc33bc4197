public import CofferBase

/// An introspection endpoint's answer (RFC 7662 section 2.2). Every time is in seconds since 1970.
public struct IntrospectionResponse: Sendable, Hashable {
    /// Whether the token is active. If it is not, every other property is empty, whatever the server sent.
    public let isActive: Bool
    /// The token's scopes.
    public let scopes: [String]
    /// The client that the token was issued to.
    public let clientID: String?
    /// The user's name.
    public let username: String?
    /// The token's type, as the server wrote it.
    public let tokenType: String?
    /// The end of the token's life.
    public let expiry: Int64?
    /// The time of issue.
    public let issuedAt: Int64?
    /// The beginning of the token's life.
    public let notBefore: Int64?
    /// The subject.
    public let subject: String?
    /// The audiences.
    public let audiences: [String]
    /// The issuer.
    public let issuer: String?
    /// The token's identifier.
    public let tokenID: String?

    /// Reads an answer.
    ///
    /// - Parameter answer: The answer.
    /// - Throws: `serverMalformed` if `active` is missing or a member has another type than RFC 7662 says;
    ///   `serverRefused` with the server's code; `serverUnreachable` if the same request can succeed later.
    public init(_ answer: HTTPResponse) throws(CofferError) {
        try answer.requireSuccess()
        guard answer.status == 200, let object = try answer.json()?.root,
            let isActive = try object.bool("active")
        else {
            throw CofferError(
                .serverMalformed, "The introspection answer does not say whether the token is active.")
        }
        // An inactive token's other members say nothing, and a server must not send them.
        let members = isActive ? object : nil
        self.isActive = isActive
        scopes = try WireText.scopes(members?.text("scope") ?? "")
        clientID = try members?.text("client_id")
        username = try members?.text("username")
        tokenType = try members?.text("token_type")
        expiry = try members?.integer("exp")
        issuedAt = try members?.integer("iat")
        notBefore = try members?.integer("nbf")
        subject = try members?.text("sub")
        audiences = try members?.texts("aud") ?? []
        issuer = try members?.text("iss")
        tokenID = try members?.text("jti")
    }
}
