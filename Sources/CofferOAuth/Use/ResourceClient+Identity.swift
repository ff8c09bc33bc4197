import Coffer
package import CofferBase
import CofferCrypto

extension ResourceClient {
    /// Returns what the server says about the user. A deactivated user's session counts as revoked.
    ///
    /// Only the identity URL can say that a user is deactivated: the endpoint for claims has no such claim,
    /// and another host to which the identity URL leads does not decide about the session. The answer must
    /// come again a second later, for the same token.
    ///
    /// - Parameter record: The session's record, which names the identity URL. Without one, the endpoint for
    ///   claims about the user is asked.
    /// - Returns: The document.
    /// - Throws: `unsupported` if there is neither an identity URL nor such an endpoint; `hostRefused` if the
    ///   identity URL must not receive the access token; `redirectRefused` if a redirect leads to another
    ///   host than the profile's or to a second redirect; `tokenRevoked` if the user is not active;
    ///   `serverRefused`, with the server's code, if the server refuses the request; `serverMalformed`,
    ///   `serverUnreachable`; `cancelled`; the errors of the session and the transport.
    package func identity(of record: GrantRecord) async throws(CofferError) -> IdentityResponse {
        guard let text = record.identityURL else {
            let url = try endpoints.url(.userInfo)
            let (claims, _) = try await answer(from: url)
            // Claims about another user are refused before anything in them counts.
            if IdentityRefusal(claims.response) == nil {
                try claims.response.requireSuccess()
                try Self.checkSubject(of: claims.response, record.subject)
            }
            return try Self.judge(claims.response).document()
        }
        let url: HTTPSURL
        do throws(CofferError) {
            url = try HTTPSURL(text)
        } catch {
            throw CofferError(
                .hostRefused, "The server's identity URL is not an https URL of the accepted form.")
        }
        let (first, live) = try await answer(from: url)
        let judgement = try Self.judge(first.response)
        guard judgement.isInactive, decides(first.place, of: url) else { return try judgement.document() }
        return try await confirm(judgement, from: url, live)
    }

    /// Returns whether an answer's server may say that the session has ended.
    private func decides(_ place: HTTPSURL, of url: HTTPSURL) -> Bool {
        place.origin.hasSameBytes(as: url.origin) || isServer(place)
    }

    /// Asks again, and ends the session if the answer is the same. Otherwise nothing is concluded.
    private func confirm(
        _ judgement: Judgement, from url: HTTPSURL, _ live: LiveToken
    ) async throws(CofferError) -> IdentityResponse {
        guard await pause(Self.confirmationWait) else {
            throw CofferError(.cancelled, "The question about the user was cancelled.")
        }
        let second = try await following(url, live.token)
        let again = try Self.judge(second.response)
        // A renewal in between means that the server's answer may be about a token that has been replaced.
        guard again.isInactive, again.code == judgement.code, decides(second.place, of: url),
            let stored = try await source.stored(), stored.info.version == live.info.version
        else { return try again.document() }
        try await source.serverRevoked(reason: "the server says that the user is not active")
        throw CofferError(
            .tokenRevoked, "A new sign-in is needed: the server says that the user is not active.",
            remedy: .signIn,
            serverCode: again.code?.rawValue)
    }

    /// The time after which a server is asked again whether the user is active.
    private static let confirmationWait = Duration.seconds(1)

    /// A response with the URL that gave it.
    private struct Answer {
        let response: HTTPResponse
        let place: HTTPSURL
    }

    /// The meaning of a complete answer.
    private enum Judgement {
        case identified(IdentityResponse)
        case refused(IdentityRefusal)

        /// Whether the answer says that the user is deactivated.
        var isInactive: Bool {
            switch self {
            case .identified(let document): document.isActive == false
            case .refused(let refusal): refusal.isRevocation
            }
        }

        /// The server's code; `nil` in a document.
        var code: IdentityRefusal? {
            if case .refused(let refusal) = self { refusal } else { nil }
        }

        /// Returns the document, or throws `serverRefused`.
        func document() throws(CofferError) -> IdentityResponse {
            switch self {
            case .identified(let document): return document
            case .refused(let refusal):
                throw CofferError(
                    .serverRefused, "The server refused to identify the user: \(refusal.rawValue).",
                    serverCode: refusal.rawValue)
            }
        }
    }

    private static func judge(_ response: HTTPResponse) throws(CofferError) -> Judgement {
        if let refusal = IdentityRefusal(response) { return .refused(refusal) }
        try response.requireSuccess()
        return .identified(
            try response.body.exposing { (bytes) throws(CofferError) -> IdentityResponse in
                try IdentityResponse(body: bytes)
            })
    }

    /// Returns the answer to a question, with the token that was sent last.
    private func answer(from url: HTTPSURL) async throws(CofferError) -> (Answer, LiveToken) {
        let live = try await source.current(minimumLife: .zero)
        let first = try await following(url, live.token)
        let refusal = IdentityRefusal(first.response)
        // The service has codes of its own: with any other one, a new token does not help.
        let isStale = refusal?.isAboutToken ?? sign.isPresent(in: first.response, from: url)
        guard isStale, !live.isRenewalTried else { return (first, live) }
        let renewed = try await source.renewed(after: live)
        return (try await following(url, renewed.token), renewed)
    }

    /// Asks for a document and follows one redirect to a host that may receive the token.
    private func following(_ url: HTTPSURL, _ token: Token) async throws(CofferError) -> Answer {
        let first = try await get(url, token)
        guard first.isRedirect, !sign.leadsToSignIn(first, from: url) else {
            return Answer(response: first, place: url)
        }
        let target = try first.target(from: url)
        guard allows(target, for: .identity) else {
            throw HTTPResponse.redirectRefused("leads to a host that must not receive the access token")
        }
        let second = try await get(target, token)
        guard !second.isRedirect || sign.leadsToSignIn(second, from: target) else {
            throw HTTPResponse.redirectRefused("leads to another redirect")
        }
        return Answer(response: second, place: target)
    }

    private func get(_ url: HTTPSURL, _ token: Token) async throws(CofferError) -> HTTPResponse {
        let request = try OAuthRequest(.get, url, headers: [(name: "Accept", value: "application/json")])
        return try await exchange(request, token, .token, for: .identity)
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
