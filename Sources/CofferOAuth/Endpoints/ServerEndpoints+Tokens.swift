package import Coffer
package import CofferBase
package import CofferCrypto

extension ServerEndpoints {
    // MARK: Signing in

    /// Returns the URL for the browser. Where the server offers it, the parameters are sent ahead of it (RFC
    /// 9126), and the URL contains only a reference to them.
    ///
    /// - Parameter request: The request for authorization.
    /// - Returns: The URL, which contains no secret of the client.
    /// - Throws: `unsupported` if the profile has no authorization endpoint; `serverMalformed` or
    ///   `serverRefused` for the answer to the parameters; the errors of the transport.
    package func authorizationURL(
        for request: AuthorizationRequest
    ) async throws(CofferError) -> HTTPSURL {
        let endpoint = try url(.authorization)
        guard has(.pushedAuthorization) || profile.endpoints?.requiresPushedAuthorization == true else {
            return try request.url(endpoint: endpoint)
        }
        let answer = try await post(.pushedAuthorization) { () throws(CofferError) -> FormBody in
            try request.pushedBody()
        }
        let reference: PushedAuthorizationResponse
        do throws(CofferError) {
            reference = try PushedAuthorizationResponse(answer)
        } catch {
            // Some servers refuse an unknown redirect URI without a word.
            guard error.code == .serverRefused, error.serverCode == nil else { throw error }
            throw CofferError(
                .serverRefused,
                "The server refused the sign-in before it began, without a reason (HTTP status "
                    + "\(answer.status)). Check that it knows the client \(profile.clientID) with "
                    + "the redirect URI \(request.contents.redirectURI) and the scopes.")
        }
        return try request.url(endpoint: endpoint, requestURI: reference.requestURI)
    }

    /// Redeems an authorization code. A code is sent once: if the answer is lost, the sign-in is, because
    /// servers revoke the tokens of a code that comes twice.
    ///
    /// - Parameters:
    ///   - redirect: The server's answer by way of the browser.
    ///   - request: The request that it answers.
    /// - Returns: The tokens, which are not verified.
    /// - Throws: `serverRefused`, with the server's code, if the browser brought a refusal or the server
    ///   refuses the code; `serverUnreachable` if no complete answer came; the errors of the transport.
    package func redeem(
        _ redirect: AuthorizationRedirect, for request: AuthorizationRequest
    ) async throws(CofferError) -> TokenResponse {
        // Before anything is sent: a refusal contains no code.
        let code = SecretBox(try redirect.code())
        let answer = try await post(.token, isProven: true) { () throws(CofferError) -> FormBody in
            var body = try FormBody()
            try body.append("grant_type", "authorization_code")
            try body.append("code", secret: code.bytes)
            try body.append("redirect_uri", request.contents.redirectURI)
            try body.append("code_verifier", secret: request.proofKey.verifier)
            for resource in request.contents.resources { try body.append("resource", resource.text) }
            return body
        }
        return try Self.tokens(in: answer, to: code)
    }

    /// Starts a sign-in on another device (RFC 8628).
    ///
    /// - Parameter scopes: The scopes to ask for.
    /// - Returns: The server's codes.
    /// - Throws: `unsupported` if the profile has no such endpoint; `serverMalformed`, `serverRefused`,
    ///   `serverUnreachable`; the errors of the transport.
    package func startDevice(scopes: [String]) async throws(CofferError) -> DeviceAuthorization {
        let answer = try await post(.deviceAuthorization) { () throws(CofferError) -> FormBody in
            var body = try FormBody()
            if !scopes.isEmpty { try body.append("scope", scopes.joined(separator: " ")) }
            return body
        }
        return try DeviceAuthorization(answer)
    }

    /// Asks whether the user has approved the device.
    ///
    /// - Parameter code: The device code.
    /// - Returns: The verdict, which is no refusal.
    /// - Throws: `serverRefused` with the server's code, or `redirectRefused`; the errors of the transport.
    package func poll(_ code: Token) async throws(CofferError) -> DevicePollVerdict {
        let code = try SecretBox(copying: code)
        let answer = try await post(.token, isProven: true) { () throws(CofferError) -> FormBody in
            var body = try FormBody()
            try body.append("grant_type", "urn:ietf:params:oauth:grant-type:device_code")
            try body.append("device_code", secret: code.bytes)
            return body
        }
        let verdict = try DevicePollVerdict.judge(answer)
        guard case .refused(let error) = verdict else { return verdict }
        throw Self.refused(error?.hiding(code), answer)
    }

    // MARK: Tokens

    /// Exchanges an access token for one with narrower scopes or for one resource (RFC 8693, RFC 8707).
    ///
    /// - Parameters:
    ///   - accessToken: The access token.
    ///   - scopes: The scopes to ask for; empty for those of the token.
    ///   - resource: The resource that the new token is for; `nil` for none.
    ///   - audience: The name of the service that the new token is for; `nil` for none.
    /// - Returns: The new token, which is not verified.
    /// - Throws: `serverRefused` with the server's code; `serverUnreachable`; the errors of the transport.
    package func exchange(
        _ accessToken: Token, scopes: [String] = [], resource: HTTPSURL? = nil, audience: String? = nil
    ) async throws(CofferError) -> TokenResponse {
        let subject = try SecretBox(copying: accessToken)
        let answer = try await post(.token, isProven: true) { () throws(CofferError) -> FormBody in
            var body = try FormBody()
            let type = "urn:ietf:params:oauth:token-type:access_token"
            try body.append("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")
            try body.append("subject_token", secret: subject.bytes)
            try body.append("subject_token_type", type)
            try body.append("requested_token_type", type)
            if !scopes.isEmpty { try body.append("scope", scopes.joined(separator: " ")) }
            if let resource { try body.append("resource", resource.text) }
            if let audience { try body.append("audience", audience) }
            return body
        }
        return try Self.tokens(in: answer, to: subject)
    }

    /// Revokes a token at the server (RFC 7009).
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - hint: The token's kind.
    /// - Returns: The verdict.
    /// - Throws: `unsupported` if the profile has no such endpoint; the errors of the transport.
    package func revoke(_ token: Token, hint: TokenHint) async throws(CofferError) -> RevocationAnswer {
        try RevocationAnswer.judge(try await post(.revocation, about: token, hint))
    }

    /// Asks for a token's state (RFC 7662).
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - hint: The token's kind.
    /// - Returns: The state.
    /// - Throws: `unsupported` if the profile has no such endpoint; `serverMalformed`, `serverRefused`,
    ///   `serverUnreachable`; the errors of the transport.
    package func introspect(
        _ token: Token, hint: TokenHint
    ) async throws(CofferError) -> IntrospectionResponse {
        try IntrospectionResponse(try await post(.introspection, about: token, hint))
    }

    private func post(
        _ endpoint: ServerEndpoint, about token: Token, _ hint: TokenHint
    ) async throws(CofferError) -> HTTPResponse {
        let token = try SecretBox(copying: token)
        return try await post(endpoint) { () throws(CofferError) -> FormBody in
            var body = try FormBody()
            try body.append("token", secret: token.bytes)
            try body.append("token_type_hint", hint.rawValue)
            return body
        }
    }

    /// Returns the tokens in an answer to a request with a secret that is not repeated.
    private static func tokens(
        in answer: HTTPResponse, to secret: SecretBox
    ) throws(CofferError) -> TokenResponse {
        switch try RefreshVerdict.judge(answer, revocationCodes: []).hiding(secret) {
        case .success(let tokens): return tokens
        case .uncertain(let wait):
            throw CofferError(
                .serverUnreachable,
                "The token endpoint did not answer completely (HTTP status \(answer.status)).",
                retryAfter: wait)
        case .revokedCandidate(let error): throw refused(error, answer)
        case .refused(let error): throw refused(error, answer)
        }
    }

    private static func refused(_ error: TokenErrorResponse?, _ answer: HTTPResponse) -> CofferError {
        guard !answer.isRedirect else {
            return CofferError(
                .redirectRefused,
                "The token endpoint answered with a redirect, which is not followed (HTTP status "
                    + "\(answer.status)).")
        }
        return CofferError(
            .serverRefused,
            error?.message
                ?? "The token endpoint refused the request without a reason (HTTP status \(answer.status)).",
            serverCode: error?.error)
    }
}

extension ServerEndpoints: TokenEndpoint {
    package var clockSkew: Int64? { time.skew }

    /// Asks for new tokens with a refresh token, once.
    ///
    /// - Parameters:
    ///   - refreshToken: The refresh token.
    ///   - attempt: The number of the attempt. Each one has an assertion and a proof of its own.
    /// - Returns: The verdict. If no answer came, it is uncertain whether the token was spent.
    /// - Throws: The errors of the transport that say that nothing was sent, such as `certificateRefused`;
    ///   `cancelled`.
    package func refresh(
        _ refreshToken: borrowing SecretBytes, attempt: Int
    ) async throws(CofferError) -> RefreshVerdict {
        let token = try refreshToken.exposing { (bytes) throws(CofferError) -> SecretBytes in
            try SecretBytes.copying(bytes)
        }
        return try await refresh(SecretBox(token))
    }

    private func refresh(_ token: SecretBox) async throws(CofferError) -> RefreshVerdict {
        let answer: HTTPResponse
        do throws(CofferError) {
            answer = try await post(.token, isProven: true) { () throws(CofferError) -> FormBody in
                var body = try FormBody()
                try body.append("grant_type", "refresh_token")
                try body.append("refresh_token", secret: token.bytes)
                return body
            }
        } catch {
            switch error.code {
            case .serverUnreachable, .timedOut, .serverMalformed:
                return .uncertain(retryAfter: error.retryAfter)
            default: throw error
            }
        }
        let codes = RefreshVerdict.revocationCodes + profile.quirks.revokedCodes
        return try RefreshVerdict.judge(answer, revocationCodes: codes).hiding(token)
    }
}
