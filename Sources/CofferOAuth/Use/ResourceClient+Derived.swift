import Coffer
package import CofferBase
import FoundationEssentials

extension ResourceClient {
    private static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"

    /// Exchanges the access token for one with fewer rights, which is never stored.
    ///
    /// - Parameters:
    ///   - scopes: The scopes of the new token; empty for those of the access token.
    ///   - resource: The resource that the new token is for; `nil` for none in particular.
    ///   - audience: The name of the service that the new token is for; `nil` for none.
    ///   - pool: The session's derived tokens.
    /// - Returns: The new token.
    /// - Throws: `invalidInput` if the scopes are invalid or if nothing makes the new token narrower;
    ///   `hostRefused` if the profile does not list the resource's host and port; `serverMalformed` if the
    ///   new token has another type or more scopes than were asked for; `serverRefused` if the server does
    ///   not exchange the token; the errors of the session and the transport.
    package func derived(
        scopes: [String] = [], resource: HTTPSURL? = nil, audience: String? = nil, in pool: DerivedTokenPool
    ) async throws(CofferError) -> DerivedToken {
        try OAuthScopes.check(scopes)
        guard !scopes.isEmpty || resource != nil || audience != nil else {
            throw CofferError(
                .invalidInput, "A derived token requires narrower scopes, a resource or an audience.")
        }
        if let resource, !allows(resource, for: .resources) {
            throw CofferError(
                .hostRefused,
                "The host \(resource.origin) is not among the resource hosts of the profile "
                    + "\(profile.name).", remedy: .allowHost)
        }
        let live = try await source.current(minimumLife: .zero)
        let sent = pool.now
        let answer = try await endpoints.exchange(
            live.token, scopes: scopes, resource: resource, audience: audience)
        let token = try answer.usableAccessToken()
        let granted = answer.scopes ?? (scopes.isEmpty ? live.info.scopes : scopes)
        try Self.check(answer, granted: granted, asked: scopes.isEmpty ? live.info.scopes : scopes)
        let own = answer.lifetime.map { Duration.seconds($0) } ?? live.remaining
        let life = min(own, live.remaining)
        let end = pool.wallClock(after: life).components.seconds
        return DerivedToken(
            resource: resource, scopes: granted, expires: Date(timeIntervalSince1970: Double(end)),
            hosts: profile.resourceHosts, pool: pool, number: pool.keep(token, until: sent + life))
    }

    /// A token of another type, or with more rights than the caller asked for, is not what it is for.
    private static func check(
        _ answer: TokenResponse, granted: [String], asked: [String]
    ) throws(CofferError) {
        if let type = answer.issuedTokenType, !type.hasSameBytes(as: accessTokenType) {
            throw CofferError(
                .serverMalformed, "The server issued another type of token than an access token.")
        }
        guard !asked.isEmpty else { return }
        let known = OAuthScopes.closure(of: asked)
        guard granted.allSatisfy({ scope in known.contains { $0.hasSameBytes(as: scope) } }) else {
            throw CofferError(
                .serverMalformed, "The server issued a token with more scopes than were asked for.")
        }
    }

    /// Asks the server for the state of the session's access token (RFC 7662).
    ///
    /// - Returns: The state.
    /// - Throws: `unsupported` if the profile has no endpoint for it; `serverMalformed`, `serverRefused`,
    ///   `serverUnreachable`; the errors of the session and the transport.
    package func introspect() async throws(CofferError) -> IntrospectionResponse {
        _ = try endpoints.url(.introspection)
        let live = try await source.current(minimumLife: .zero)
        return try await endpoints.introspect(live.token, hint: .access)
    }
}
