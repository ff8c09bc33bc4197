/// An endpoint of an authorization server. The raw value is the endpoint's name in discovery documents.
public enum ServerEndpoint: String, Sendable, Hashable, CaseIterable {
    /// Where a browser signs the user in.
    case authorization = "authorization_endpoint"
    /// Where tokens are issued.
    case token = "token_endpoint"
    /// Where tokens are revoked (RFC 7009).
    case revocation = "revocation_endpoint"
    /// Where a token's state is asked for (RFC 7662).
    case introspection = "introspection_endpoint"
    /// Where a device sign-in begins (RFC 8628).
    case deviceAuthorization = "device_authorization_endpoint"
    /// Where the parameters of a sign-in are sent ahead of it (RFC 9126).
    case pushedAuthorization = "pushed_authorization_request_endpoint"
    /// Where the server publishes its keys.
    case keys = "jwks_uri"
    /// Where claims about the user are asked for.
    case userInfo = "userinfo_endpoint"
    /// Where a browser signs the user out.
    case endSession = "end_session_endpoint"
}
