/// The way in which a client authenticates itself to the authorization server.
public enum ClientAuthentication: Sendable, Hashable {
    /// The audience of a client's signed assertion.
    public enum AssertionAudience: String, Sendable, Hashable, CaseIterable {
        /// The issuer, as the current standard demands.
        case issuer
        /// The token endpoint, which is all that some servers accept.
        case tokenEndpoint
        /// The endpoint that receives the assertion, which is all that some servers accept. For pushed
        /// authorization parameters, that is another one than the token endpoint.
        case receivingEndpoint
    }

    /// A public client: only its ID is sent.
    case none
    /// The client secret in the `Authorization` header.
    case basic
    /// The client secret in the body of the request.
    case post
    /// An assertion that the client's private key signs (RFC 7523).
    case privateKeyJWT(audience: AssertionAudience)
    /// A client certificate (RFC 8705).
    case mutualTLS
}

extension ClientAuthentication {
    /// Whether the client signs an assertion for each request.
    var isAssertion: Bool { if case .privateKeyJWT = self { true } else { false } }
}
