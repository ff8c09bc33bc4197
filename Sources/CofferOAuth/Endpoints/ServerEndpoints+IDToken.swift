package import Coffer
package import CofferBase
package import CofferCrypto

extension ServerEndpoints {
    /// Returns a token of the server's whose signature was verified with its keys.
    ///
    /// - Parameters:
    ///   - token: The token in its compact form.
    ///   - types: The permitted types.
    /// - Returns: The token, whose claims are not checked.
    /// - Throws: `notAuthentic` or `invalidInput` if the token is not as required; `unsupported` if the
    ///   profile has no URL of keys; `serverMalformed`, `serverRefused`, `serverUnreachable`; the errors of
    ///   the transport.
    package func verified(
        _ token: Token, types: [String] = ["JWT"]
    ) async throws(CofferError) -> JSONWebToken {
        try await keys.verified(try SecretBox(copying: token), types: types, by: self)
    }

    /// Checks an id token (OpenID Connect Core 1.0 section 3.1.3.7).
    ///
    /// - Parameters:
    ///   - idToken: The id token.
    ///   - accessToken: The access token that came with it; `nil` if none did.
    ///   - request: The request that it answers, if that request sent a nonce.
    ///   - subject: The subject that earlier tokens named; `nil` permits any.
    /// - Returns: The token, all of whose claims are as required.
    /// - Throws: `issuerMismatch` if another issuer issued the token; `stateMismatch` if it answers another
    ///   request or is for another user; `serverMalformed` if its form, its signature or another claim is
    ///   not as required; `unsupported` if the profile has no URL of keys; `serverRefused`,
    ///   `serverUnreachable`; the errors of the transport.
    package func checkedIDToken(
        _ idToken: Token, accessToken: Token?, request: AuthorizationRequest? = nil, subject: String? = nil
    ) async throws(CofferError) -> JSONWebToken {
        do throws(CofferError) {
            let token = try await verified(idToken)
            try check(token, accessToken, request, subject)
            return token
        } catch {
            switch error.code {
            case .notAuthentic, .invalidInput, .refused:
                throw CofferError(.serverMalformed, "The server's id token was refused. \(error.message)")
            default: throw error
            }
        }
    }

    private func check(
        _ token: JSONWebToken, _ accessToken: Token?, _ request: AuthorizationRequest?, _ subject: String?
    ) throws(CofferError) {
        guard token.claims["iss"]?.string?.hasSameBytes(as: profile.issuer.text) == true else {
            throw CofferError(.issuerMismatch, "The id token names another server than the expected one.")
        }
        try token.check(
            JSONWebToken.ClaimRules(issuer: profile.issuer.text, audience: profile.clientID, now: now))
        if let subject, token.claims["sub"]?.string?.hasSameBytes(as: subject) != true {
            throw CofferError(.stateMismatch, "The id token is for another user than the earlier ones.")
        }
        if let request {
            do throws(CofferError) {
                try token.checkNonce(request.nonce)
            } catch {
                guard error.code == .refused else { throw error }
                throw CofferError(.stateMismatch, "The id token does not belong to this sign-in.")
            }
        }
        if let accessToken { try token.checkAccessToken(try SecretBox(copying: accessToken).bytes) }
    }
}
