import Coffer
package import CofferBase
import CofferCrypto

extension ResourceClient {
    /// Returns what the server says about the user. A deactivated user's session counts as revoked.
    ///
    /// - Parameter record: The session's record, which names the identity URL. Without one, the endpoint for
    ///   claims about the user is asked.
    /// - Returns: The document.
    /// - Throws: `unsupported` if there is neither an identity URL nor such an endpoint; `hostRefused` if the
    ///   identity URL must not receive the access token; `redirectRefused` if a redirect leads to another
    ///   host than the profile's or to a second redirect; `tokenRevoked` if the user is not active;
    ///   `serverRefused`, with the server's code, if the server refuses the request; `serverMalformed`,
    ///   `serverUnreachable`; the errors of the session and the transport.
    package func identity(of record: GrantRecord) async throws(CofferError) -> IdentityResponse {
        guard let text = record.identityURL else {
            let url = try endpoints.url(.userInfo)
            return try await document(from: url) { (response) throws(CofferError) in
                try Self.checkSubject(of: response, record.subject)
            }
        }
        let url: HTTPSURL
        do throws(CofferError) {
            url = try HTTPSURL(text)
        } catch {
            throw CofferError(
                .hostRefused, "The server's identity URL is not an https URL of the accepted form.")
        }
        return try await document(from: url) { _ throws(CofferError) in }
    }

    private func document(
        from url: HTTPSURL, _ check: (HTTPResponse) throws(CofferError) -> Void
    ) async throws(CofferError) -> IdentityResponse {
        let live = try await source.current(minimumLife: .zero)
        var response = try await following(url, live.token)
        let refusal = IdentityRefusal(response)
        // The service has codes of its own: with any other one, a new token does not help.
        let isStale = refusal?.isAboutToken ?? sign.isPresent(in: response, from: url)
        if isStale, !live.isRenewalTried {
            let renewed = try await source.renewed(after: live)
            response = try await following(url, renewed.token)
        }
        try await refuse(response)
        try check(response)
        let document = try response.body.exposing { (bytes) throws(CofferError) -> IdentityResponse in
            try IdentityResponse(body: bytes)
        }
        if document.isActive == false {
            try await source.serverRevoked(reason: "the server says that the user is not active")
            throw Self.revoked(code: nil)
        }
        return document
    }

    /// Asks for a document and follows one redirect to a host that may receive the token.
    private func following(_ url: HTTPSURL, _ token: Token) async throws(CofferError) -> HTTPResponse {
        let first = try await get(url, token)
        guard first.isRedirect, !sign.leadsToSignIn(first, from: url) else { return first }
        let target = try first.target(from: url)
        guard allows(target, for: .identity) else {
            throw HTTPResponse.redirectRefused("leads to a host that must not receive the access token")
        }
        let second = try await get(target, token)
        guard !second.isRedirect || sign.leadsToSignIn(second, from: target) else {
            throw HTTPResponse.redirectRefused("leads to another redirect")
        }
        return second
    }

    private func get(_ url: HTTPSURL, _ token: Token) async throws(CofferError) -> HTTPResponse {
        let request = try OAuthRequest(.get, url, headers: [(name: "Accept", value: "application/json")])
        return try await exchange(request, token, .token, for: .identity)
    }

    /// Throws if a response is a refusal.
    private func refuse(_ response: HTTPResponse) async throws(CofferError) {
        guard let refusal = IdentityRefusal(response) else { return try response.requireSuccess() }
        guard refusal.isRevocation else {
            throw CofferError(
                .serverRefused, "The server refused to identify the user: \(refusal.rawValue).",
                serverCode: refusal.rawValue)
        }
        try await source.serverRevoked(reason: "the server says that the user was deactivated")
        throw Self.revoked(code: refusal.rawValue)
    }

    private static func revoked(code: String?) -> CofferError {
        CofferError(
            .tokenRevoked, "A new sign-in is needed: the server says that the user is not active.",
            remedy: .signIn, serverCode: code)
    }

    /// Claims about another user than the one who signed in must not be used (OpenID Connect Core 1.0
    /// section 5.3.2).
    private static func checkSubject(of response: HTTPResponse, _ subject: String?) throws(CofferError) {
        guard let subject else { return }
        guard let claim = try response.json()?.root.text("sub"), claim.hasSameBytes(as: subject) else {
            throw CofferError(
                .serverMalformed, "The server's claims are about another user than the one who signed in.")
        }
    }
}
