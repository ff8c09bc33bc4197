public import CofferBase

/// What an authorization server says of itself in a discovery document (RFC 8414, OpenID Connect).
public struct ServerMetadata: Sendable, Equatable {
    /// The maximum size of a document in bytes.
    public static let maxByteCount = 1 << 16

    /// The issuer, which is the one that was asked for.
    public let issuer: HTTPSURL
    /// The server's endpoints.
    public let endpoints: PinnedEndpoints
    /// The scopes that the server announces; `nil` if it announces none.
    public let scopes: [String]?
    /// The ways of client authentication that the server announces; `nil` if it announces none.
    public let authenticationMethods: [String]?
    /// The grant types that the server announces; `nil` if it announces none.
    public let grantTypes: [String]?
    /// The PKCE methods that the server announces; `nil` if it announces none.
    public let challengeMethods: [String]?
    /// The signature algorithms of ID tokens that the server announces; `nil` if it announces none.
    public let idTokenAlgorithms: [String]?
    /// The signature algorithms of key proofs (DPoP) that the server announces; `nil` if it offers none.
    public let keyProofAlgorithms: [String]?

    /// Creates a description by parsing a document. Members that nobody knows are ignored.
    ///
    /// - Parameters:
    ///   - bytes: The document, JSON of at most 64 KiB.
    ///   - issuer: The issuer that was asked for.
    /// - Throws: `issuerMismatch` if the document names another issuer, even one that differs in a single
    ///   byte; `serverMalformed` if the document is not strict JSON, contains a member twice, or contains an
    ///   endpoint that is not an `https` URL without a fragment.
    public init(parsing bytes: [UInt8], issuer: HTTPSURL) throws(CofferError) {
        var members = try JSONMembers(
            parsing: bytes, atMost: Self.maxByteCount, of: "The server's discovery document",
            code: .serverMalformed)
        let named = try members.requiredText("issuer")
        guard named.hasSameBytes(as: issuer.text) else {
            throw CofferError(
                .issuerMismatch,
                "The server's discovery document names another issuer than the one that was asked for: "
                    + "\(Self.shown(named)).", remedy: .checkIssuer)
        }
        self.issuer = issuer
        let urls = try PinnedEndpoints.urls(in: &members)
        var aliases: [ServerEndpoint: HTTPSURL] = [:]
        if var object = try members.object("mtls_endpoint_aliases") {
            aliases = try PinnedEndpoints.urls(in: &object)
        }
        guard urls[.token] != nil else { throw members.invalid("the member token_endpoint is missing") }
        guard urls[.authorization] != nil || urls[.deviceAuthorization] != nil else {
            throw members.invalid("it names no endpoint at which a user can sign in")
        }
        let keyProofAlgorithms = try members.texts("dpop_signing_alg_values_supported")
        self.keyProofAlgorithms = keyProofAlgorithms
        endpoints = PinnedEndpoints(
            urls, mutualTLSAliases: aliases,
            requiresIssuerInRedirect: try members.flag("authorization_response_iss_parameter_supported")
                ?? false,
            requiresPushedAuthorization: try members.flag("require_pushed_authorization_requests") ?? false,
            offersKeyProof: keyProofAlgorithms?.contains { $0.hasSameBytes(as: "ES256") } ?? false)
        scopes = try members.texts("scopes_supported")
        authenticationMethods = try members.texts("token_endpoint_auth_methods_supported")
        grantTypes = try members.texts("grant_types_supported")
        challengeMethods = try members.texts("code_challenge_methods_supported")
        idTokenAlgorithms = try members.texts("id_token_signing_alg_values_supported")
        if let challengeMethods, !challengeMethods.contains(where: { $0.hasSameBytes(as: "S256") }) {
            throw members.invalid("the server does not support the PKCE method S256, which is required")
        }
    }

    /// Returns a text of the server for a message: its first 256 printable ASCII characters.
    private static func shown(_ text: String) -> String {
        String(decoding: text.utf8.filter { (0x21...0x7E).contains($0) }.prefix(256), as: UTF8.self)
    }

    /// Returns the URLs at which an issuer's document may be: by RFC 8414 between the host and the issuer's
    /// path, then by OpenID Connect after the path.
    ///
    /// - Parameter issuer: The issuer.
    /// - Returns: The URLs in the order in which they are tried.
    /// - Throws: `invalidInput` if the issuer has a query or is too long.
    public static func locations(of issuer: HTTPSURL) throws(CofferError) -> [HTTPSURL] {
        guard issuer.query == nil else {
            throw CofferError(.invalidInput, "An issuer must not have a query.")
        }
        let isClosed = issuer.path.utf8.last == UInt8(ascii: "/")
        let path = isClosed ? String(decoding: issuer.path.utf8.dropLast(), as: UTF8.self) : issuer.path
        return [
            try issuer.replacingPath(with: "/.well-known/oauth-authorization-server" + path),
            try issuer.replacingPath(with: path + "/.well-known/openid-configuration"),
        ]
    }
}
