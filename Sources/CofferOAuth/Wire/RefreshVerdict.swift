public import CofferBase

/// The meaning of an answer to a refresh request.
public enum RefreshVerdict: Sendable {
    /// The answer contains tokens. Store the refresh token first, then check the rest.
    case success(TokenResponse)
    /// The server says that it no longer accepts the refresh token. A single such answer proves nothing: the
    /// caller knows whether an earlier attempt was unanswered, and asks again.
    case revokedCandidate(TokenErrorResponse)
    /// It is unknown whether the server spent the refresh token. Replay the same token, not before the given
    /// time if there is one.
    case uncertain(retryAfter: Duration?)
    /// The server refused the request for a reason that says nothing about the refresh token, which remains.
    /// The error is `nil` if the server sent none, such as an empty body, a redirect or a page of HTML. Such
    /// an answer, or one with an error of another's, may hide that the server spent the token.
    case refused(TokenErrorResponse?)

    /// The error codes that revoke a refresh token according to RFC 6749.
    public static let revocationCodes: [String] = ["invalid_grant"]
    /// The error codes that mean "later", whatever the status.
    private static let temporaryCodes = ["temporarily_unavailable", "server_error", "slow_down"]

    /// Judges an answer. The result depends on the arguments only.
    ///
    /// - A complete JSON object counts whatever the connection did afterwards.
    /// - 408, 425, 429 and 5xx are uncertain, whatever their body says: something in front of the server may
    ///   have answered after the server spent the token.
    /// - A success without tokens and an incomplete answer are uncertain. A complete success with an `error`
    ///   is judged by that error, because some servers send errors with status 200.
    /// - A redirect and every other 4xx are refusals, and revoke only if their body is a complete JSON object
    ///   whose `error` is one of the codes.
    ///
    /// - Parameters:
    ///   - answer: The answer from the pinned token endpoint.
    ///   - revocationCodes: The codes that revoke; a profile can add its server's own.
    /// - Returns: The verdict.
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func judge(
        _ answer: HTTPResponse, revocationCodes: [String] = RefreshVerdict.revocationCodes
    ) throws(CofferError) -> RefreshVerdict {
        let wait = answer.retryAfter
        guard answer.isSuccess || answer.isRefusal || answer.isRedirect else {
            return .uncertain(retryAfter: wait)
        }
        let json = try answer.json()
        if answer.isSuccess, let json, let tokens = try tokens(json) { return .success(tokens) }
        guard answer.isWhole else { return .uncertain(retryAfter: wait) }
        if answer.isRedirect { return .refused(nil) }
        guard let error = json.flatMap({ TokenErrorResponse($0) }) else {
            return answer.isSuccess ? .uncertain(retryAfter: wait) : .refused(nil)
        }
        if error.isOne(of: temporaryCodes) { return .uncertain(retryAfter: wait) }
        return error.isOne(of: revocationCodes) ? .revokedCandidate(error) : .refused(error)
    }

    /// Returns the verdict without a description that repeats the secret of the request.
    func hiding(_ secret: SecretBox) -> RefreshVerdict {
        switch self {
        case .revokedCandidate(let error): .revokedCandidate(error.hiding(secret))
        case .refused(let error): .refused(error?.hiding(secret))
        case .success, .uncertain: self
        }
    }

    private static func tokens(_ json: GuardedJSON) throws(CofferError) -> TokenResponse? {
        do throws(CofferError) {
            return try TokenResponse(json)
        } catch {
            guard error.code == .serverMalformed else { throw error }
            return nil
        }
    }
}
